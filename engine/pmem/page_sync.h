// Makes stores to a mapped file durable if only a sync of the file does so.
// Note records flushed ranges; Drain syncs the file once, however many ranges
// were flushed.
//
// The kernel may write any dirty page back earlier. So a crash need not lose a
// page, whether it was flushed or not.
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

  // Note itself syncs once this many bytes have been noted, so that no drain
  // has more than that to write. A page counts each time it is noted. The bound
  // holds only if a caller stores and notes a large range in pieces
  // (Region::kPieceBytes): a sync writes all bytes that are stored by then.
  static constexpr size_t kMostUnsynced = 8u << 20;

  explicit PageSync(SyncFile sync_file) : sync_file_(std::move(sync_file)) {}

  // The next Drain makes this thread's earlier stores to these bytes durable.
  void Note(const void* data, size_t length);

  // Returns once all ranges that any thread noted before are durable. Syncs the
  // file only if no sync has covered some of them.
  void Drain();

  uint64_t syncs() const;  // of the file

  // Over all files of the process.
  struct Totals {
    uint64_t syncs = 0;   // completed
    absl::Duration time;  // spent in them
  };
  static Totals OfProcess();

 private:
  static constexpr size_t kPageBytes = 4096;

  const SyncFile sync_file_;

  // Held during a sync; taken before mutex_.
  absl::Mutex syncing_;

  mutable absl::Mutex mutex_;
  // The noted pages that no sync covers, not even one under way: their lowest
  // byte (null: none), and an upper bound of their size.
  const std::byte* lowest_ ABSL_GUARDED_BY(mutex_) = nullptr;
  size_t unsynced_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t syncs_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_PAGE_SYNC_H_
