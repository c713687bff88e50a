// The notations of keys, which may be any bytes, in words of a command line, in
// printed lines and in input files: --key_encoding.
#ifndef KAMINO_CLIENT_CLI_KEY_ENCODING_H_
#define KAMINO_CLIENT_CLI_KEY_ENCODING_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kamino::client {

enum class KeyEncoding {
  kByPlace,  // the default: raw as a word, escaped in lines and files
  kRaw,      // the bytes
  kEscaped,  // Escape of base/escape.h
  kHex,      // two digits a byte, without separators
  kBase64,   // RFC 4648, section 4, padded, as in JSON
};

// Where a key is written.
enum class KeyPlace { kWord, kLine };

// kInvalidArgument: `text` is no key in that encoding; the error names the text
// and the first wrong byte.
absl::StatusOr<std::string> DecodeKey(KeyEncoding encoding, KeyPlace place,
                                      absl::string_view text);

// The key in a line.
std::string EncodeKey(KeyEncoding encoding, absl::string_view key);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_KEY_ENCODING_H_
