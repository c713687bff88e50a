#include "client/cli/backup_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "client/cli/files.h"

namespace kamino::client {
namespace {

constexpr mode_t kMode = 0600;  // it has everything that the cluster has

absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::UnknownError(
      absl::StrCat("cannot ", what, " ", path, ": ",
                   absl::ErrnoToStatus(errno, "").message()));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

absl::StatusOr<std::unique_ptr<NewFile>> NewFile::Create(
    const std::string& path, bool force) {
  auto made = absl::WrapUnique(new NewFile(path, force));
  if (path == "-") {
    made->file_ = dup(STDOUT_FILENO);
    if (made->file_ < 0) return Failed("write to", "standard output");
    return made;
  }
  struct stat info = {};
  if (!force && lstat(path.c_str(), &info) == 0) {
    return absl::AlreadyExistsError(absl::StrCat(
        path, " exists; --force overwrites it once the new one is whole"));
  }
  const std::string unfinished =
      absl::StrCat(path, ".unfinished.", static_cast<int>(getpid()));
  made->file_ =
      open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
  if (made->file_ < 0) return Failed("make", unfinished);
  made->unfinished_ = unfinished;
  return made;
}

NewFile::~NewFile() {
  if (file_ >= 0) close(file_);
  if (!unfinished_.empty()) unlink(unfinished_.c_str());
}

absl::Status NewFile::Write(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return Failed("write to", is_output() ? "standard output" : unfinished_);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status NewFile::Publish() {
  if (is_output()) {
    // A pipe or a terminal has nothing to be brought to a medium.
    if (fsync(file_) == 0 || errno == EINVAL || errno == EROFS) {
      return absl::OkStatus();
    }
    return Failed("write to", "standard output");
  }
  if (fsync(file_) != 0) return Failed("write to", unfinished_);
  // link() never overwrites.
  const int named = force_ ? rename(unfinished_.c_str(), path_.c_str())
                           : link(unfinished_.c_str(), path_.c_str());
  if (named != 0) {
    if (errno == EEXIST) {
      return absl::AlreadyExistsError(
          absl::StrCat(path_, " was made meanwhile, by somebody else"));
    }
    return Failed("make", path_);
  }
  if (!force_) unlink(unfinished_.c_str());
  unfinished_.clear();
  const int folder =
      open(FolderOf(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool durable = folder >= 0 && fsync(folder) == 0;
  absl::Status status =
      durable ? absl::OkStatus() : Failed("write to the folder of", path_);
  if (folder >= 0) close(folder);
  return status;
}

absl::StatusOr<std::unique_ptr<OldFile>> OldFile::Open(
    const std::string& path) {
  const int file = path == "-" ? dup(STDIN_FILENO)
                               : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return absl::InvalidArgumentError(Failed("open", NameOf(path)).message());
  }
  auto opened = absl::WrapUnique(new OldFile(path, file));
  struct stat info = {};
  opened->can_rewind_ =
      path != "-" && fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  return opened;
}

OldFile::~OldFile() { close(file_); }

absl::Status OldFile::Rewind() {
  if (lseek(file_, 0, SEEK_SET) == 0) return absl::OkStatus();
  return Failed("read", NameOf(path_));
}

absl::StatusOr<size_t> OldFile::Read(char* to, size_t most) {
  size_t got = 0;
  while (got < most) {
    const ssize_t now = read(file_, to + got, most - got);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return Failed("read", NameOf(path_));
    if (now == 0) break;
    got += static_cast<size_t>(now);
  }
  return got;
}

}  // namespace kamino::client
