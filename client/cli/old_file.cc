#include "client/cli/old_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "client/cli/files.h"

namespace kamino::client {
namespace {

absl::Status Failed(const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot read ", NameOf(path), ": ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<OldFile>> OldFile::Open(
    const std::string& path) {
  const int file = path == "-" ? dup(STDIN_FILENO)
                               : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Failed(path);
  auto opened = absl::WrapUnique(new OldFile(path, file));
  struct stat info = {};
  opened->can_rewind_ =
      path != "-" && fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  return opened;
}

OldFile::~OldFile() { close(file_); }

absl::Status OldFile::Named(const absl::Status& error) const {
  // Errors of Read and Rewind name the file already.
  if (error.ok() || absl::IsInvalidArgument(error)) return error;
  return absl::Status(error.code(),
                      absl::StrCat(NameOf(path_), ": ", error.message()));
}

absl::Status OldFile::Rewind() {
  if (lseek(file_, 0, SEEK_SET) == 0) return absl::OkStatus();
  return Failed(path_);
}

absl::StatusOr<size_t> OldFile::Read(char* to, size_t most) {
  size_t got = 0;
  while (got < most) {
    const ssize_t now = read(file_, to + got, most - got);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return Failed(path_);
    if (now == 0) break;
    got += static_cast<size_t>(now);
  }
  return got;
}

}  // namespace kamino::client
