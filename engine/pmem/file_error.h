// System errors of a file as statuses, and a check of its kind.
#ifndef KAMINO_ENGINE_PMEM_FILE_ERROR_H_
#define KAMINO_ENGINE_PMEM_FILE_ERROR_H_

#include <sys/types.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kamino::engine {

// "cannot `what` `path`: `why`". `error` is an errno: gives kAlreadyExists,
// kNotFound and kResourceExhausted (of space) for those, else
// kFailedPrecondition.
absl::Status FileError(int error, absl::string_view what,
                       absl::string_view path, absl::string_view why);

// The same with the system's text.
absl::Status FileError(int error, absl::string_view what,
                       absl::string_view path);

// Whether a file of that kind (stat's st_mode) can be mapped as persistent
// memory: kFailedPrecondition except for a file or a character device (devdax).
absl::Status CheckKind(absl::string_view path, mode_t mode);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_FILE_ERROR_H_
