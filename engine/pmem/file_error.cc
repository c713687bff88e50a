#include "engine/pmem/file_error.h"

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

namespace kamino::engine {

absl::Status FileError(int error, absl::string_view what,
                       absl::string_view path, absl::string_view why) {
  const std::string message =
      absl::StrCat("cannot ", what, " ", path, ": ", why);
  switch (error) {
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case ENOENT:
      return absl::NotFoundError(message);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::FailedPreconditionError(message);
  }
}

absl::Status FileError(int error, absl::string_view what,
                       absl::string_view path) {
  return FileError(error, what, path, std::strerror(error));
}

}  // namespace kamino::engine
