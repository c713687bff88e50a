// Reads what may not hold up whoever reads it.
#ifndef KAMINO_SECURITY_REGULAR_FILE_H_
#define KAMINO_SECURITY_REGULAR_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace kamino::security {

inline constexpr size_t kMaxRegularFile = 1 << 20;

// kInvalidArgument, with the file's name: it is none, as a pipe, which would be
// waited on for ever; it cannot be read; or it is more than a MiB.
absl::StatusOr<std::string> ReadRegularFile(const std::string& path);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_REGULAR_FILE_H_
