// Converts bytes to text and back, so that one command can read the output of
// another.
#ifndef KAMINO_CLIENT_CLI_TEXT_H_
#define KAMINO_CLIENT_CLI_TEXT_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kamino::client {

// Any bytes as one line without tabs. Well-formed UTF-8 stays as it is, except
// that \\, \t, \n and \r are escaped. Control characters and bytes that are not
// UTF-8 become \xHH; so does a leading byte order mark, which readers of files
// would drop.
std::string Escape(absl::string_view bytes);

// Text from another process, safe for a terminal: as Escape, but a backslash
// stays as it is. No byte of it moves the cursor or acts as a command.
std::string Printable(absl::string_view bytes);

// The inverse of Escape. kInvalidArgument: a backslash begins no escape.
absl::StatusOr<std::string> Unescape(absl::string_view text);

// As Escape, but leaves valid UTF-8 unchanged.
std::string ToUtf8(absl::string_view bytes);

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
