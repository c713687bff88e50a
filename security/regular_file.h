// Reads files without blocking.
#ifndef KAMINO_SECURITY_REGULAR_FILE_H_
#define KAMINO_SECURITY_REGULAR_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace kamino::security {

inline constexpr size_t kMaxRegularFile = 1 << 20;

// kInvalidArgument, with the file's name: it is not a regular file (a pipe
// could block forever), cannot be read, or exceeds 1 MiB.
absl::StatusOr<std::string> ReadRegularFile(const std::string& path);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_REGULAR_FILE_H_
