#include "client/cli/key_encoding.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/escape.h"
#include "client/cli/text.h"

namespace kamino::client {
namespace {

// `at`: the first wrong byte.
absl::Status Bad(absl::string_view encoding, absl::string_view text, size_t at,
                 absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no key with --key_encoding=", encoding,
                   ": at byte ", at, " (counted from 0): ", why));
}

absl::StatusOr<std::string> FromHexDigits(absl::string_view text) {
  const auto wrong = std::find_if_not(
      text.begin(), text.end(), [](char c) { return absl::ascii_isxdigit(c); });
  const auto at = static_cast<size_t>(wrong - text.begin());
  if (at < text.size()) {
    return Bad("hex", text, at, "it is no hexadecimal digit");
  }
  if (text.size() % 2 != 0) {
    return Bad("hex", text, text.size() - 1, "a byte has two digits");
  }
  return absl::HexStringToBytes(text);
}

bool IsBase64(char c) { return absl::ascii_isalnum(c) || c == '+' || c == '/'; }

absl::StatusOr<std::string> FromBase64(absl::string_view text) {
  size_t digits = text.size();
  while (digits > 0 && text.size() - digits < 2 && text[digits - 1] == '=') {
    --digits;
  }
  for (size_t i = 0; i < digits; ++i) {
    if (!IsBase64(text[i])) {
      return Bad("base64", text, i, "it is no digit of base64");
    }
  }
  if (text.size() % 4 != 0) {
    return Bad("base64", text, text.size(),
               "it ends within a group of four (= fills the last one)");
  }
  std::string key;
  // Unused bits must be 0, so that each key has one encoding.
  if (!absl::Base64Unescape(text, &key) || absl::Base64Escape(key) != text) {
    return Bad("base64", text, digits - 1, "it has bits beyond the last byte");
  }
  return key;
}

absl::StatusOr<std::string> FromEscaped(absl::string_view text) {
  auto key = Unescape(text);
  if (key.ok()) return key;
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text,
      "\" is no key with --key_encoding=escaped: ", key.status().message()));
}

}  // namespace

absl::StatusOr<std::string> DecodeKey(KeyEncoding encoding, KeyPlace place,
                                      absl::string_view text) {
  switch (encoding) {
    case KeyEncoding::kByPlace:
      if (place == KeyPlace::kLine) return Unescape(text);
      return std::string(text);
    case KeyEncoding::kRaw:
      return std::string(text);
    case KeyEncoding::kEscaped:
      return FromEscaped(text);
    case KeyEncoding::kHex:
      return FromHexDigits(text);
    case KeyEncoding::kBase64:
      return FromBase64(text);
  }
  return absl::InternalError("no such encoding");
}

std::string EncodeKey(KeyEncoding encoding, absl::string_view key) {
  switch (encoding) {
    case KeyEncoding::kByPlace:
    case KeyEncoding::kEscaped:
      return Escape(key);
    case KeyEncoding::kRaw:
      return std::string(key);
    case KeyEncoding::kHex:
      return ToHex(key);
    case KeyEncoding::kBase64:
      return absl::Base64Escape(key);
  }
  return Escape(key);
}

}  // namespace kamino::client
