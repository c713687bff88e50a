// A region on a file (fsdax, tmpfs, or any file system) or on a whole device of
// persistent memory (devdax), mapped with libpmem2.
#ifndef KAMINO_ENGINE_PMEM_FILE_REGION_H_
#define KAMINO_ENGINE_PMEM_FILE_REGION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "engine/pmem/page_sync.h"
#include "engine/pmem/region.h"

struct pmem2_map;

namespace kamino::engine {

enum class PmemMode {
  kAuto,   // as the medium demands: nothing, cache line flushes, or syncs
  kForce,  // cache line flushes, even where only a sync makes stores durable
};

// How stores become durable: at once, by cache line flushes, or by one
// fdatasync of the file for each Drain that finds something flushed.
enum class FlushKind { kNone, kCacheLine, kPage };

// A failed write to the medium loses data: the kernel treats the pages as clean
// from then on, and a later process may still read from the page cache what is
// gone once the pages are read from the medium. So no process may acknowledge
// anything more: the handler records that. It gets the place in memory, or null
// and the path of a file that is being opened, and the process ends when it
// returns. Any thread; set before there are regions. Without a handler the
// process ends.
using LostWritesHandler = void (*)(const void* place, const char* path,
                                   int error);
void OnLostWrites(LostWritesHandler handler);

class FileRegion final : public Region {
 public:
  // Creates a zeroed file with all its space allocated. kAlreadyExists: the
  // path exists; kResourceExhausted: no space; kFailedPrecondition: cannot be
  // created or mapped, or a size of 0. After an error there is no file.
  // Messages name the path.
  static absl::StatusOr<std::unique_ptr<FileRegion>> Create(
      const std::string& path, size_t size, PmemMode mode);

  // Opens the whole of an existing file or of a device. Ends the process as
  // OnLostWrites says if the medium fails to take pending writes. kNotFound;
  // kFailedPrecondition: in use by another process, empty, or cannot be mapped.
  static absl::StatusOr<std::unique_ptr<FileRegion>> Open(
      const std::string& path, PmemMode mode);

  // As rename(2); the new name survives a crash of the machine.
  static absl::Status Rename(const std::string& from, const std::string& to);

  ~FileRegion() override;
  FileRegion(const FileRegion&) = delete;
  FileRegion& operator=(const FileRegion&) = delete;

  std::byte* base() const override { return base_; }
  size_t size() const override { return size_; }
  void Flush(const void* data, size_t length) override;
  void Drain() override;
  // The processor's fence covers all regions.
  bool DrainsAll() const override { return kind_ != FlushKind::kPage; }
  bool SyncsPages() const override { return kind_ == FlushKind::kPage; }
  const DirectStores* direct() const override {
    return kind_ == FlushKind::kCacheLine ? &direct_ : nullptr;
  }
  void CopyFlush(void* destination, const void* source, size_t length) override;

  // Touches all of a new region, so that no later store takes a page fault.
  // With page write-back (kPage) it does nothing: each page would go to the
  // disk. A failure only costs time.
  void Populate();

  FlushKind flush_kind() const { return kind_; }

  // With kPage: how often the file was synced for durability; else 0.
  uint64_t syncs() const { return pages_ == nullptr ? 0 : pages_->syncs(); }

 private:
  using PersistFn = void (*)(const void*, size_t);
  using DrainFn = void (*)();

  // Owns `fd`, which holds the file's lock.
  explicit FileRegion(int fd) : fd_(fd) {}
  absl::Status Map(const std::string& path, PmemMode mode);

  const int fd_;
  pmem2_map* map_ = nullptr;
  std::byte* base_ = nullptr;
  size_t size_ = 0;
  FlushKind kind_ = FlushKind::kPage;
  std::unique_ptr<PageSync> pages_;  // with kPage; then the others are null
  PersistFn flush_ = nullptr;
  DrainFn drain_ = nullptr;
  DirectStores direct_{};  // with kCacheLine
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_FILE_REGION_H_
