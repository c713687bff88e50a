// What a system call says of a file, as a status, and what is no file at all.
#ifndef KAMINO_ENGINE_PMEM_FILE_ERROR_H_
#define KAMINO_ENGINE_PMEM_FILE_ERROR_H_

#include <sys/types.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kamino::engine {

// "cannot `what` `path`: `why`". `error` is an errno: kAlreadyExists, kNotFound
// and kResourceExhausted (of space) where it says so, else kFailedPrecondition.
absl::Status FileError(int error, absl::string_view what,
                       absl::string_view path, absl::string_view why);

// The same in the system's words.
absl::Status FileError(int error, absl::string_view what,
                       absl::string_view path);

// Whether a file of that kind (stat's st_mode) can be mapped as memory that is
// kept: kFailedPrecondition but for a file and a character device (devdax).
absl::Status CheckKind(absl::string_view path, mode_t mode);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_FILE_ERROR_H_
