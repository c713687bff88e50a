#include "client/cli/text.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::client {
namespace {

absl::Status WrongAt(size_t at, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("at byte ", at, " (counted from 0): ", why));
}

// The two digits at `at` of `text`.
absl::StatusOr<char> HexByte(absl::string_view text, size_t at) {
  const absl::string_view digits = text.substr(at, 2);
  if (digits.size() < 2 || !absl::ascii_isxdigit(digits[0]) ||
      !absl::ascii_isxdigit(digits[1])) {
    return WrongAt(
        at, absl::StrCat("\"", digits, "\" is not two hexadecimal digits"));
  }
  return absl::HexStringToBytes(digits)[0];
}

}  // namespace

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
