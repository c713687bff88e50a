#include "client/cli/new_files.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::client {
namespace {

std::string Cannot(absl::string_view what, absl::string_view path) {
  return absl::StrCat("cannot ", what, " ", path, ": ", WhyNotWritten(errno));
}

absl::Status Failed(absl::string_view what, absl::string_view path) {
  return absl::FailedPreconditionError(Cannot(what, path));
}

// The error for a file or folder that cannot be opened or made: the command
// line names an unsuitable path, unless the disk is full or fails.
absl::Status NotOpened(absl::string_view what, absl::string_view path) {
  if (errno == ENOSPC || errno == EDQUOT || errno == EIO) {
    return Failed(what, path);
  }
  return absl::InvalidArgumentError(Cannot(what, path));
}

// A file that a signal handler removes. One thread takes and frees slots; the
// handler runs on any thread.
struct Slot {
  std::array<char, PATH_MAX> path;
  std::atomic<bool> used = false;
};
constexpr size_t kSlots = 4;  // files that one command has open at a time
std::array<Slot, kSlots> unfinished_files;
static_assert(std::atomic<bool>::is_always_lock_free);

void RemoveUnfinished(int fatal) {
  for (Slot& slot : unfinished_files) {
    if (slot.used.load(std::memory_order_acquire)) unlink(slot.path.data());
  }
  // The process ends by the signal as soon as this handler returns.
  signal(fatal, SIG_DFL);
  raise(fatal);
}

// Signals that the parent set to be ignored, as nohup does, stay ignored.
void CatchFatalSignals() {
  for (const int fatal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now = {};
    if (sigaction(fatal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) {
      continue;
    }
    struct sigaction caught = {};
    caught.sa_handler = RemoveUnfinished;
    sigaction(fatal, &caught, nullptr);
  }
}

void RemoveAtSignals(const std::string& path) {
  CatchFatalSignals();
  for (Slot& slot : unfinished_files) {
    if (slot.used.load(std::memory_order_relaxed)) continue;
    if (path.size() >= slot.path.size()) return;  // open refuses such a path
    std::memcpy(slot.path.data(), path.c_str(), path.size() + 1);
    slot.used.store(true, std::memory_order_release);
    return;
  }
}

void KeepAtSignals(const std::string& path) {
  for (Slot& slot : unfinished_files) {
    if (slot.used.load(std::memory_order_relaxed) && path == slot.path.data()) {
      slot.used.store(false, std::memory_order_release);
    }
  }
}

absl::Status WriteTo(int file, absl::string_view name,
                     absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed("write", name);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status WriteInPlace(const std::string& path, absl::string_view bytes) {
  const int file =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return NotOpened("write", path);
  absl::Status written = WriteTo(file, path, bytes);
  if (close(file) != 0 && written.ok()) written = Failed("write", path);
  return written;
}

// The mode that the umask gives a new file.
mode_t NewMode() {
  const mode_t masked = umask(0);
  umask(masked);
  return 0666 & ~masked;
}

absl::Status IsThereAlready(const std::string& path) {
  return absl::AlreadyExistsError(absl::StrCat(path, " is there already"));
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Some file systems cannot sync a folder.
bool Sync(int fd) { return fsync(fd) == 0 || errno == EINVAL; }

bool SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool synced = Sync(fd);
  close(fd);
  return synced;
}

// Renames a file without replacing another one; false: see errno.
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

std::string WhyNotWritten(int error) {
  const std::string why = std::strerror(error);
  rlimit most = {};
  if (error != EFBIG) return why;
  if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY) {
    return absl::StrCat(why, " (its file system takes no larger one)");
  }
  return absl::StrCat(why, " (this process may write up to ", most.rlim_cur,
                      " bytes to a file: ulimit -f)");
}

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
    if (S_ISDIR(info.st_mode)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cannot make ", path, ": it is a directory; name a file"));
    }
    if (existing == Existing::kStays) return IsThereAlready(path);
    if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cannot make ", path,
          ": the path exists and is not a regular file; name another one"));
    }
  }
  std::string unfinished = path + ".unfinished.XXXXXX";
  made->file_ = mkostemp(unfinished.data(), O_CLOEXEC);  // its owner's alone
  if (made->file_ < 0) return NotOpened("make", path);
  made->unfinished_ = std::move(unfinished);
  RemoveAtSignals(made->unfinished_);
  if (fstat(made->file_, &info) == 0) made->made_ = info.st_mtime;
  return made;
}

NewFile::~NewFile() {
  if (file_ >= 0) close(file_);
  if (unfinished_.empty()) return;
  unlink(unfinished_.c_str());
  KeepAtSignals(unfinished_);
}

absl::Status NewFile::Write(absl::string_view bytes) {
  return WriteTo(file_, is_output() ? "standard output" : path_, bytes);
}

absl::Status NewFile::Allow(mode_t mode) {
  if (is_output() || fchmod(file_, mode) == 0) return absl::OkStatus();
  return Failed("write", path_);
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
  // A pipe or a terminal cannot be synced.
  if (Sync(file_) || errno == EROFS) return absl::OkStatus();
  return Failed("write", "standard output");
}

absl::Status NewFile::Name() {
  const bool named = existing_ == Existing::kIsReplaced
                         ? rename(unfinished_.c_str(), path_.c_str()) == 0
                         : RenameToNew(unfinished_, path_);
  if (!named && errno == EEXIST) return IsThereAlready(path_);
  if (!named) return Failed("make", path_);
  KeepAtSignals(unfinished_);
  unfinished_.clear();
  return absl::OkStatus();
}

absl::Status NewFile::Publish(Readers readers) {
  if (is_output()) return PublishOutput();
  if (readers == Readers::kAll && fchmod(file_, 0644) != 0) {
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

absl::Status WriteOver(const std::string& path, absl::string_view bytes) {
  struct stat info = {};
  const bool there = lstat(path.c_str(), &info) == 0;
  if (!there && errno != ENOENT) return NotOpened("write", path);
  if (there && (!S_ISREG(info.st_mode) || info.st_nlink != 1 ||
                info.st_uid != geteuid() || access(path.c_str(), W_OK) != 0)) {
    return WriteInPlace(path, bytes);
  }
  auto file = NewFile::Create(path, Existing::kIsReplaced);
  // On a full disk a write in place would truncate the old file.
  if (absl::IsFailedPrecondition(file.status())) return file.status();
  // The file may be writable although its folder is not.
  if (!file.ok()) return WriteInPlace(path, bytes);
  RETURN_IF_ERROR((*file)->Write(bytes));
  RETURN_IF_ERROR((*file)->Allow(there ? info.st_mode & 07777 : NewMode()));
  return (*file)->Publish();
}

absl::Status MakeFolder(const std::string& path, Readers readers) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return absl::OkStatus();
  const std::string above = FolderOf(path);
  std::filesystem::create_directories(above, error);
  if (error ||
      mkdir(path.c_str(), readers == Readers::kAll ? 0755 : 0700) != 0) {
    if (error) errno = error.value();
    return NotOpened("make the folder", path);
  }
  return absl::OkStatus();
}

bool IsThere(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace kamino::client
