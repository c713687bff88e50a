#include "client/cli/text.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace kamino::client {
namespace {

// Length of the well-formed UTF-8 sequence of more than one byte that `text`
// begins with (RFC 3629, section 4); 0 when it begins with none.
size_t SequenceLength(absl::string_view text) {
  const auto byte = [text](size_t i) -> uint8_t {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : 0;
  };
  const auto within = [&](size_t i, uint8_t least, uint8_t most) {
    return byte(i) >= least && byte(i) <= most;
  };
  const uint8_t lead = byte(0);
  if (lead >= 0xc2 && lead <= 0xdf) return within(1, 0x80, 0xbf) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const uint8_t least = lead == 0xe0 ? 0xa0 : 0x80;  // overlong
    const uint8_t most = lead == 0xed ? 0x9f : 0xbf;   // surrogates
    return within(1, least, most) && within(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const uint8_t least = lead == 0xf0 ? 0x90 : 0x80;  // overlong
    const uint8_t most = lead == 0xf4 ? 0x8f : 0xbf;   // beyond U+10FFFF
    return within(1, least, most) && within(2, 0x80, 0xbf) &&
                   within(3, 0x80, 0xbf)
               ? 4
               : 0;
  }
  return 0;
}

// U+0080 to U+009F are control characters of more than one byte.
bool IsControl(absl::string_view sequence) {
  return sequence.size() == 2 && sequence[0] == '\xc2' &&
         static_cast<uint8_t>(sequence[1]) < 0xa0;
}

void AppendHex(char c, std::string* text) {
  absl::StrAppend(text, "\\x", ToHex(absl::string_view(&c, 1)));
}

absl::Status WrongAt(size_t at, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("at byte ", at, " (counted from 0): ", why));
}

// The two digits at `at` of `text`.
absl::StatusOr<char> HexByte(absl::string_view text, size_t at) {
  const absl::string_view digits = text.substr(at, 2);
  if (digits.size() < 2 || !absl::ascii_isxdigit(digits[0]) ||
      !absl::ascii_isxdigit(digits[1])) {
    return WrongAt(at, absl::StrCat("\"", digits,
                                    "\" is no byte of two hexadecimal digits"));
  }
  return absl::HexStringToBytes(digits)[0];
}

std::string WithoutControls(absl::string_view bytes,
                            absl::string_view backslash) {
  std::string text;
  while (!bytes.empty()) {
    const char c = bytes[0];
    const size_t length = SequenceLength(bytes);
    if (length > 0 && !IsControl(bytes.substr(0, length))) {
      absl::StrAppend(&text, bytes.substr(0, length));
      bytes.remove_prefix(length);
      continue;
    }
    switch (c) {
      case '\\':
        absl::StrAppend(&text, backslash);
        break;
      case '\t':
        text += "\\t";
        break;
      case '\n':
        text += "\\n";
        break;
      case '\r':
        text += "\\r";
        break;
      default:
        if (absl::ascii_isprint(c)) {
          text += c;
        } else {
          AppendHex(c, &text);
        }
    }
    bytes.remove_prefix(1);
  }
  return text;
}

}  // namespace

std::string Escape(absl::string_view bytes) {
  std::string text;
  if (absl::ConsumePrefix(&bytes, "\xef\xbb\xbf")) text = "\\xef\\xbb\\xbf";
  return text + WithoutControls(bytes, "\\\\");
}

std::string Printable(absl::string_view bytes) {
  return WithoutControls(bytes, "\\");
}

std::string ToUtf8(absl::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const bool ascii = static_cast<uint8_t>(bytes[0]) < 0x80;
    const size_t length = ascii ? 1 : SequenceLength(bytes);
    if (length == 0) {
      AppendHex(bytes[0], &text);
    } else {
      absl::StrAppend(&text, bytes.substr(0, length));
    }
    bytes.remove_prefix(std::max<size_t>(length, 1));
  }
  return text;
}

absl::StatusOr<std::string> Unescape(absl::string_view text) {
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      bytes += text[at++];
      continue;
    }
    const char kind = at + 1 < text.size() ? text[at + 1] : '\0';
    switch (kind) {
      case '\\':
        bytes += '\\';
        break;
      case 't':
        bytes += '\t';
        break;
      case 'n':
        bytes += '\n';
        break;
      case 'r':
        bytes += '\r';
        break;
      case 'x': {
        ASSIGN_OR_RETURN(const char byte, HexByte(text, at + 2));
        bytes += byte;
        at += 2;
        break;
      }
      default:
        return WrongAt(at,
                       "a backslash stands before \\, t, n, r or xHH, and "
                       "nothing else");
    }
    at += 2;
  }
  return bytes;
}

std::string ToHex(absl::string_view bytes) {
  return absl::BytesToHexString(bytes);
}

absl::StatusOr<std::string> FromHex(absl::string_view text) {
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    if (absl::ascii_isspace(text[at])) {
      ++at;
      continue;
    }
    ASSIGN_OR_RETURN(const char byte, HexByte(text, at));
    bytes += byte;
    at += 2;
  }
  return bytes;
}

bool IsOptionWithoutValue(absl::string_view word) {
  return absl::StartsWith(word, "--") && word.find('=') == word.size() - 1;
}

std::string UniqueName(const std::string& name, std::set<std::string>* taken) {
  std::string unique = name;
  for (int count = 2; !taken->insert(unique).second; ++count) {
    unique = absl::StrCat(name, "-", count);
  }
  return unique;
}

}  // namespace kamino::client
