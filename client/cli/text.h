// Converts text and hexadecimal digits to bytes, so that one command can read
// the output of another (base/escape.h).
#ifndef KAMINO_CLIENT_CLI_TEXT_H_
#define KAMINO_CLIENT_CLI_TEXT_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kamino::client {

// The inverse of Escape. kInvalidArgument: a backslash begins no escape.
absl::StatusOr<std::string> Unescape(absl::string_view text);

// "00ff" and back; FromHex skips white space between the bytes.
std::string ToHex(absl::string_view bytes);
absl::StatusOr<std::string> FromHex(absl::string_view text);

// Whether a word of the command line is an option with an empty value, such as
// --prefix=. The value of --prefix=YQ== is YQ==.
bool IsOptionWithoutValue(absl::string_view word);

// `name`, or name-2, name-3 and so on: the first that is not in `taken`. Adds
// it to `taken`.
std::string UniqueName(const std::string& name, std::set<std::string>* taken);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_TEXT_H_
