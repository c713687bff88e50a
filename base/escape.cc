#include "base/escape.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace kamino {
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
  absl::StrAppend(text, "\\x",
                  absl::BytesToHexString(absl::string_view(&c, 1)));
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

}  // namespace kamino
