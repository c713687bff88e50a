// Reads files for the command line.
#ifndef KAMINO_CLIENT_CLI_FILES_H_
#define KAMINO_CLIENT_CLI_FILES_H_

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kamino::client {

// "-" is standard input wherever a file is read.

// The file's name in errors.
std::string NameOf(const std::string& path);

// Reads a whole file. kInvalidArgument, with the file's name: it cannot be
// read, or has more than `most` bytes; `too_large` explains that limit.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t most,
                                     absl::string_view too_large);

// How ReadLines treats a CR that is not part of a line end like line 1's.
enum class OddCr { kIsAnError, kStays };

// Calls `take` with each line, without its end: LF, or CR LF if line 1 ends so.
// Skips a UTF-8 byte order mark before line 1. kInvalidArgument: the file
// cannot be read to its end, or with kIsAnError a line ends otherwise than
// line 1 or contains a CR. Stops at the first error of `take` and returns it.
absl::Status ReadLines(const std::string& path, OddCr odd,
                       absl::FunctionRef<absl::Status(std::string)> take);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_FILES_H_
