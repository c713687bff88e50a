// Makes stores to a mapped file durable where only a sync of the file does:
// Flush is noted, Drain syncs once, however many ranges were flushed.
//
// The kernel may write any dirty page back earlier. So callers cannot rely on a
// page being lost in a crash, whether it was flushed or not.
#ifndef KAMINO_ENGINE_PMEM_PAGE_SYNC_H_
#define KAMINO_ENGINE_PMEM_PAGE_SYNC_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kamino::engine {

// Thread-safe.
class PageSync {
 public:
  // Writes all dirty pages of the file to its medium and returns when they are
  // durable; does not return when the medium fails. `place` is the lowest byte
  // that was noted, for the error. Calls do not overlap.
  using SyncFile = std::function<void(const void* place)>;

  // Note syncs by itself once so much has been noted, so that no drain has more
  // than that to write. A page counts each time it is noted. The sync covers
  // the whole range that is noted, whose bytes are stored by then: a caller
  // that stores more stores it in pieces (Region::kPieceBytes) and notes each.
  static constexpr size_t kMostUnsynced = 8u << 20;

  explicit PageSync(SyncFile sync_file) : sync_file_(std::move(sync_file)) {}

  // The stores of this thread to these bytes, made before, are to be durable
  // with the next Drain.
  void Note(const void* data, size_t length);

  // Returns when all that was noted before, by any thread, is durable. Syncs
  // the file only if something was noted that no sync has covered.
  void Drain();

  uint64_t syncs() const;  // of the file

  // Of all files of the process.
  struct Totals {
    uint64_t syncs = 0;  // that have ended
    absl::Duration time;
  };
  static Totals OfProcess();

 private:
  static constexpr size_t kPageBytes = 4096;

  const SyncFile sync_file_;

  // Held during a sync; taken before mutex_.
  absl::Mutex syncing_;

  mutable absl::Mutex mutex_;
  // What no sync that has begun covers: the lowest byte, null if there is
  // nothing, and at most so many bytes of pages.
  const std::byte* lowest_ ABSL_GUARDED_BY(mutex_) = nullptr;
  size_t unsynced_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t syncs_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_PAGE_SYNC_H_
