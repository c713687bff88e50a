#include "engine/pmem/file_error.h"

#include <sys/stat.h>

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

absl::Status CheckKind(absl::string_view path, mode_t mode) {
  if (S_ISREG(mode) || S_ISCHR(mode)) return absl::OkStatus();
  if (S_ISBLK(mode)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        " is a block device; use a file on a file system, or a device of "
        "persistent memory (devdax)"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, " is neither a file nor a device"));
}

}  // namespace kamino::engine
