#include "rpc/staged_pair.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace kamino::rpc {
namespace {

constexpr const char* kNames[] = {"certificate.pem", "key.pem",
                                  "authorities.pem"};
constexpr char kCurrent[] = "current";
constexpr char kNext[] = "next";
constexpr absl::string_view kPrefix = "kamino-tls-";
constexpr int kAttempts = 10;

absl::Status Failed(absl::string_view what) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", what, ": ", std::strerror(errno)));
}

// Opens and locks the folder; -1: it belongs to another user or process, or is
// gone.
int LockFolder(const std::string& path, int how) {
  const int folder =
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return -1;
  struct stat opened = {};
  struct stat there = {};
  // If it was removed meanwhile, the lock would protect nothing.
  if (fstat(folder, &opened) == 0 && opened.st_uid == geteuid() &&
      flock(folder, how) == 0 && lstat(path.c_str(), &there) == 0 &&
      there.st_ino == opened.st_ino && there.st_dev == opened.st_dev) {
    return folder;
  }
  close(folder);
  return -1;
}

// Removes the folders of killed processes.
void RemoveLeft(const std::string& parent) {
  std::error_code error;
  std::vector<std::string> left;
  for (std::filesystem::directory_iterator entry(parent, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (absl::StartsWith(name, kPrefix)) left.push_back(entry->path().string());
  }
  for (const std::string& path : left) {
    const int lock = LockFolder(path, LOCK_EX | LOCK_NB);
    if (lock < 0) continue;
    std::filesystem::remove_all(path, error);
    close(lock);
  }
}

void Close(std::array<int, 3>* files) {
  for (int& file : *files) {
    if (file >= 0) close(file);
    file = -1;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<StagedPair>> StagedPair::Make(
    const Texts& texts) {
  std::error_code error;
  std::string parent = std::filesystem::temp_directory_path(error).string();
  if (error) parent = "/tmp";
  RemoveLeft(parent);
  std::string folder;
  int lock = -1;
  // Until it is locked, another process may remove the folder as left over.
  for (int attempt = 0; lock < 0 && attempt < kAttempts; ++attempt) {
    folder = absl::StrCat(parent, "/", kPrefix, "XXXXXX");
    if (mkdtemp(folder.data()) == nullptr) {
      return Failed(absl::StrCat("make a folder ", folder,
                                 " (TMPDIR names another place)"));
    }
    lock = LockFolder(folder, LOCK_EX);
  }
  if (lock < 0) return Failed(absl::StrCat("lock a folder like ", folder));
  auto made = absl::WrapUnique(new StagedPair(folder, lock));
  RETURN_IF_ERROR(made->Replace(texts));
  return made;
}

StagedPair::~StagedPair() {
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
  close(lock_);
  Close(&files_);
  Close(&old_);
}

absl::Status StagedPair::Fill(const Texts& texts, Files* files) const {
  const std::string* const contents[] = {&texts.certificate_pem, &texts.key_pem,
                                         &texts.authorities_pem};
  for (size_t i = 0; i < files->size(); ++i) {
    int& file = (*files)[i];
    file = memfd_create(kNames[i], MFD_CLOEXEC);
    const std::string& text = *contents[i];
    if (file < 0 || write(file, text.data(), text.size()) !=
                        static_cast<ssize_t>(text.size())) {
      return Failed("keep a certificate in memory");
    }
    // The watcher detects changes during a read by timestamps in seconds, so
    // two sets must never have the same.
    const timespec times[] = {{generation_, 0}, {generation_, 0}};
    if (futimens(file, times) != 0) return Failed("date a file in memory");
  }
  return absl::OkStatus();
}

absl::Status StagedPair::Replace(const Texts& texts) {
  ++generation_;
  Files files = {-1, -1, -1};
  absl::Status status = Fill(texts, &files);
  const std::string name = absl::StrCat(generation_);
  const std::string folder = absl::StrCat(folder_, "/", name);
  if (status.ok() && mkdir(folder.c_str(), 0700) != 0) {
    status = Failed(absl::StrCat("make ", folder));
  }
  for (size_t i = 0; i < files.size() && status.ok(); ++i) {
    const std::string path = absl::StrCat(folder, "/", kNames[i]);
    if (symlink(absl::StrCat("/proc/self/fd/", files[i]).c_str(),
                path.c_str()) != 0) {
      status = Failed(absl::StrCat("make ", path));
    }
  }
  const std::string next = absl::StrCat(folder_, "/", kNext);
  const std::string current = absl::StrCat(folder_, "/", kCurrent);
  if (status.ok() && (symlink(name.c_str(), next.c_str()) != 0 ||
                      rename(next.c_str(), current.c_str()) != 0)) {
    status = Failed(absl::StrCat("replace ", current));
  }
  std::error_code error;
  if (!status.ok()) {
    Close(&files);
    std::filesystem::remove_all(folder, error);
    std::filesystem::remove(next, error);
    return status;
  }
  std::filesystem::remove_all(absl::StrCat(folder_, "/", generation_ - 2),
                              error);
  Close(&old_);
  old_ = std::exchange(files_, files);
  return absl::OkStatus();
}

std::string StagedPair::certificate_path() const {
  return absl::StrCat(folder_, "/", kCurrent, "/", kNames[0]);
}

std::string StagedPair::key_path() const {
  return absl::StrCat(folder_, "/", kCurrent, "/", kNames[1]);
}

std::string StagedPair::authorities_path() const {
  return absl::StrCat(folder_, "/", kCurrent, "/", kNames[2]);
}

}  // namespace kamino::rpc
