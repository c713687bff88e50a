// Files that the command line reads.
#ifndef KAMINO_CLIENT_CLI_FILES_H_
#define KAMINO_CLIENT_CLI_FILES_H_

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kamino::client {

// The bytes of a file; "-": of standard input. kInvalidArgument, with the path:
// it cannot be read to its end, or has more than `most` bytes.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t most);

// Calls `take` with each line, without its end. kInvalidArgument: the file
// cannot be read to its end. The first error of `take` ends it.
absl::Status ReadLines(const std::string& path,
                       absl::FunctionRef<absl::Status(std::string)> take);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_FILES_H_
