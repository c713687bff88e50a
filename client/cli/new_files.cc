#include "client/cli/new_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::client {
namespace {

std::string Cannot(absl::string_view what, absl::string_view path) {
  return absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(errno));
}

absl::Status Failed(absl::string_view what, absl::string_view path) {
  return absl::FailedPreconditionError(Cannot(what, path));
}

absl::Status IsThereAlready(const std::string& path) {
  return absl::AlreadyExistsError(absl::StrCat(path, " is there already"));
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Not on every file system can a folder be brought to the medium by itself.
bool Sync(int fd) { return fsync(fd) == 0 || errno == EINVAL; }

bool SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool synced = Sync(fd);
  close(fd);
  return synced;
}

// Gives a file another name, which nothing has; false: see errno.
bool RenameToNew(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                RENAME_NOREPLACE) == 0) {
    return true;
  }
  if (errno != EINVAL && errno != ENOSYS) return false;
  // Some file systems, NFS among them, have no such rename.
  if (link(from.c_str(), to.c_str()) != 0) return false;
  unlink(from.c_str());
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<NewFile>> NewFile::Create(
    const std::string& path, Existing existing) {
  auto made = absl::WrapUnique(new NewFile(path, existing));
  if (path == "-") {
    made->file_ = dup(STDOUT_FILENO);
    if (made->file_ < 0) return Failed("write to", "standard output");
    return made;
  }
  struct stat info = {};
  if (lstat(path.c_str(), &info) == 0) {
    if (existing == Existing::kStays) return IsThereAlready(path);
    if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot make ", path, ": what is there is no file"));
    }
  }
  std::string unfinished = path + ".unfinished.XXXXXX";
  made->file_ = mkostemp(unfinished.data(), O_CLOEXEC);  // its owner's alone
  if (made->file_ < 0) {
    return absl::InvalidArgumentError(Cannot("make", path));
  }
  made->unfinished_ = std::move(unfinished);
  if (fstat(made->file_, &info) == 0) made->made_ = info.st_mtime;
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
      return Failed("write", is_output() ? "standard output" : path_);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status NewFile::GiveAway() {
  struct stat folder = {};
  if (is_output() || geteuid() != 0) return absl::OkStatus();
  if (stat(FolderOf(path_).c_str(), &folder) != 0 ||
      fchown(file_, folder.st_uid, folder.st_gid) != 0) {
    return Failed("give away", path_);
  }
  return absl::OkStatus();
}

absl::Status NewFile::PublishOutput() {
  // A pipe or a terminal has nothing to be brought to a medium.
  if (Sync(file_) || errno == EROFS) return absl::OkStatus();
  return Failed("write", "standard output");
}

absl::Status NewFile::Name() {
  const bool named = existing_ == Existing::kIsReplaced
                         ? rename(unfinished_.c_str(), path_.c_str()) == 0
                         : RenameToNew(unfinished_, path_);
  if (!named && errno == EEXIST) return IsThereAlready(path_);
  if (!named) return Failed("make", path_);
  unfinished_.clear();
  return absl::OkStatus();
}

absl::Status NewFile::Publish(Readers readers) {
  if (is_output()) return PublishOutput();
  if (readers == Readers::kEverybody && fchmod(file_, 0644) != 0) {
    return Failed("write", path_);
  }
  if (fsync(file_) != 0) return Failed("write", path_);
  RETURN_IF_ERROR(Name());
  if (SyncFolder(FolderOf(path_))) return absl::OkStatus();
  return Failed("write to the folder of", path_);
}

absl::Status WriteFile(const std::string& path, absl::string_view text,
                       Readers readers, Existing existing) {
  ASSIGN_OR_RETURN(const auto file, NewFile::Create(path, existing));
  RETURN_IF_ERROR(file->Write(text));
  RETURN_IF_ERROR(file->GiveAway());
  return file->Publish(readers);
}

absl::Status MakeFolder(const std::string& path, Readers readers) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return absl::OkStatus();
  const std::string above = FolderOf(path);
  std::filesystem::create_directories(above, error);
  if (error ||
      mkdir(path.c_str(), readers == Readers::kEverybody ? 0755 : 0700) != 0) {
    if (error) errno = error.value();
    return Failed("make the folder", path);
  }
  return absl::OkStatus();
}

bool IsThere(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace kamino::client
