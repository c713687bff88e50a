#include "engine/pmem/file_region.h"

#include <fcntl.h>
#include <libpmem2.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/pmem/cache_flush.h"
#include "engine/pmem/file_error.h"
#include "engine/pmem/medium_wait.h"
#include "engine/pmem/stream_copy.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

absl::Status Pmem2Error(absl::string_view what, const std::string& path) {
  // PMDK has no message for a character device that is not memory.
  const absl::string_view why = pmem2_errormsg();
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot ", what, " ", path, ": ",
      why.empty()
          ? "it is neither a file nor a device of persistent memory (devdax)"
          : why));
}

absl::Status Lock(int fd, const std::string& path) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
  if (errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is in use by another process"));
  }
  return FileError(errno, "lock", path);
}

// Later, when space runs out, a hole in the file would kill the process with
// SIGBUS.
absl::Status AllocateSpace(int fd, size_t size, const std::string& path) {
  const MediumWait waits;
  int error = 0;
  do {
    error = posix_fallocate(fd, 0, static_cast<off_t>(size));
  } while (error == EINTR);
  if (error != 0) return FileError(error, "allocate space for", path);
  return absl::OkStatus();
}

std::atomic<LostWritesHandler> lost_writes_handler{nullptr};

[[noreturn]] void EndWithLostWrites(const void* place, const char* path) {
  const int error = errno;
  const LostWritesHandler handler = lost_writes_handler.load();
  if (handler != nullptr) handler(place, path, error);
  errno = error;
  PLOG(FATAL) << "the medium of a heap fails";
  abort();
}

bool Sync(int fd) {
  const MediumWait waits;
  while (fsync(fd) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

// On Linux fdatasync also writes pages that are dirty through a mapping. One
// call writes all of them for one sync of the medium, which msync of a single
// page costs as well.
void SyncPages(int fd, const void* place) {
  while (fdatasync(fd) != 0) {
    if (errno != EINTR) EndWithLostWrites(place, nullptr);
  }
}

// So that the new name survives a crash of the machine.
absl::Status SyncFolderOf(const std::string& path) {
  const std::filesystem::path parent =
      std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return FileError(errno, "open", folder);
  const MediumWait waits;
  const int failed = fsync(fd);
  const int error = errno;
  close(fd);
  return failed ? FileError(error, "sync", folder) : absl::OkStatus();
}

}  // namespace

void OnLostWrites(LostWritesHandler handler) { lost_writes_handler = handler; }

absl::StatusOr<std::unique_ptr<FileRegion>> FileRegion::Create(
    const std::string& path, size_t size, PmemMode mode) {
  const int fd =
      open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return FileError(errno, "make", path);
  auto region = absl::WrapUnique(new FileRegion(fd));
  absl::Status status = Lock(fd, path);
  if (status.ok()) status = AllocateSpace(fd, size, path);
  if (status.ok() && !Sync(fd)) status = FileError(errno, "sync", path);
  if (status.ok()) status = SyncFolderOf(path);
  if (status.ok()) status = region->Map(path, mode);
  if (status.ok()) return region;
  unlink(path.c_str());
  return status;
}

absl::StatusOr<std::unique_ptr<FileRegion>> FileRegion::Open(
    const std::string& path, PmemMode mode) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return FileError(errno, "open", path);
  auto region = absl::WrapUnique(new FileRegion(fd));
  struct stat info;
  if (fstat(fd, &info) != 0) return FileError(errno, "look at", path);
  RETURN_IF_ERROR(CheckKind(path, info.st_mode));
  RETURN_IF_ERROR(Lock(fd, path));
  // Its length, now that no other process can change it.
  if (fstat(fd, &info) != 0) return FileError(errno, "look at", path);
  if (S_ISREG(info.st_mode) && info.st_size == 0) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is empty"));
  }
  // A copy of a file may have holes in place of zeros.
  if (S_ISREG(info.st_mode)) {
    RETURN_IF_ERROR(AllocateSpace(fd, static_cast<size_t>(info.st_size), path));
    // Including pages that an earlier process has written.
    if (!Sync(fd)) EndWithLostWrites(nullptr, path.c_str());
  }
  RETURN_IF_ERROR(region->Map(path, mode));
  return region;
}

absl::Status FileRegion::Rename(const std::string& from,
                                const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) {
    return FileError(errno, "rename", from);
  }
  return SyncFolderOf(to);
}

void FileRegion::Populate() {
#ifdef MADV_POPULATE_WRITE
  if (kind_ == FlushKind::kPage) return;
  if (madvise(base_, size_, MADV_POPULATE_WRITE) != 0) {
    VLOG(1) << "pages are not populated: " << strerror(errno);
  }
#endif
}

absl::Status FileRegion::Map(const std::string& path, PmemMode mode) {
  pmem2_config* config = nullptr;
  pmem2_source* source = nullptr;
  absl::Status status;
  if (pmem2_config_new(&config) != 0 ||
      pmem2_source_from_fd(&source, fd_) != 0 ||
      pmem2_config_set_required_store_granularity(
          config, PMEM2_GRANULARITY_PAGE) != 0 ||
      pmem2_map_new(&map_, config, source) != 0) {
    status = Pmem2Error("map", path);
  }
  pmem2_source_delete(&source);
  pmem2_config_delete(&config);
  if (!status.ok()) return status;

  base_ = static_cast<std::byte*>(pmem2_map_get_address(map_));
  size_ = pmem2_map_get_size(map_);
  flush_ = pmem2_get_flush_fn(map_);
  drain_ = pmem2_get_drain_fn(map_);
  switch (pmem2_map_get_store_granularity(map_)) {
    case PMEM2_GRANULARITY_BYTE:
      kind_ = FlushKind::kNone;
      break;
    case PMEM2_GRANULARITY_CACHE_LINE:
      kind_ = FlushKind::kCacheLine;
      break;
    case PMEM2_GRANULARITY_PAGE:
      if (mode == PmemMode::kForce) {
        kind_ = FlushKind::kCacheLine;
        flush_ = BestCacheFlush();
        drain_ = StoreFence;
        break;
      }
      kind_ = FlushKind::kPage;
      pages_ = std::make_unique<PageSync>(
          [fd = fd_](const void* place) { SyncPages(fd, place); });
      break;
  }
  direct_ = {StreamCopy, flush_, drain_};
  return absl::OkStatus();
}

FileRegion::~FileRegion() {
  if (map_ != nullptr) pmem2_map_delete(&map_);
  close(fd_);  // and its lock
}

void FileRegion::Flush(const void* data, size_t length) {
  if (length == 0) return;
  if (pages_ != nullptr) return pages_->Note(data, length);
  flush_(data, length);
}

void FileRegion::Drain() {
  if (pages_ != nullptr) return pages_->Drain();
  drain_();
}

void FileRegion::CopyFlush(void* destination, const void* source,
                           size_t length) {
  if (kind_ == FlushKind::kCacheLine) {
    return StreamCopy(destination, source, length);
  }
  // Noted piece by piece, so that PageSync can bound what a sync has to write.
  auto* to = static_cast<std::byte*>(destination);
  const auto* from = static_cast<const std::byte*>(source);
  while (length > 0) {
    const size_t piece = std::min(length, kPieceBytes);
    std::memcpy(to, from, piece);
    Flush(to, piece);
    to += piece;
    from += piece;
    length -= piece;
  }
}

}  // namespace kamino::engine
