#include "client/cli/new_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::client {
namespace {

absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(errno)));
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

absl::Status WriteAll(int fd, const std::string& path, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return Failed("write", path);
    text.remove_prefix(static_cast<size_t>(wrote));
  }
  return absl::OkStatus();
}

// To the owner of its folder, where this is root.
absl::Status GiveAway(int fd, const std::string& path) {
  struct stat folder;
  if (geteuid() != 0) return absl::OkStatus();
  if (stat(FolderOf(path).c_str(), &folder) != 0 ||
      fchown(fd, folder.st_uid, folder.st_gid) != 0) {
    return Failed("give away", path);
  }
  return absl::OkStatus();
}

void SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

absl::Status WriteFile(const std::string& path, absl::string_view text,
                       Readers readers, Existing existing) {
  std::string part = path + ".XXXXXX";
  const int fd = mkostemp(part.data(), O_CLOEXEC);  // its owner's alone
  if (fd < 0) return Failed("write", path);
  const auto closed = absl::MakeCleanup([&] { close(fd); });
  auto removed = absl::MakeCleanup([&] { unlink(part.c_str()); });
  RETURN_IF_ERROR(WriteAll(fd, path, text));
  RETURN_IF_ERROR(GiveAway(fd, path));
  if (readers == Readers::kEverybody && fchmod(fd, 0644) != 0) {
    return Failed("write", path);
  }
  if (fsync(fd) != 0) return Failed("write", path);
  const unsigned int flags =
      existing == Existing::kStays ? RENAME_NOREPLACE : 0u;
  if (renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, path.c_str(), flags) != 0) {
    if (errno != EEXIST) return Failed("write", path);
    return absl::AlreadyExistsError(absl::StrCat(path, " is there already"));
  }
  std::move(removed).Cancel();
  SyncFolder(FolderOf(path));
  return absl::OkStatus();
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
