// WrAP's log while it is in use: buckets in persistent memory that wraps are
// written to, and what has closed and not retired yet (lab/docs/wrap.md).
//
// Invariants:
//   1. A bucket or block with records of a closed wrap is written to again only
//      once `retired` has durably come to that wrap's close.
//   2. `retired` durably comes to a close only when that close and all before
//      are durable, and what they store is durable in its place. So every
//      sequence above it that was ever drawn has a bucket to itself.
//   3. Sequences are drawn while the locks of what the wrap stores to are held,
//      and those fall when the close is durable: wraps with an object in common
//      close in the order in which they changed it.
//   4. One thread at a time stores to the objects' places.
//   5. The last free bucket is for anonymous wraps, which never fail.
#ifndef KAMINO_LAB_WRAP_WRAP_LOG_H_
#define KAMINO_LAB_WRAP_WRAP_LOG_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/explore.h"
#include "engine/heap/heap.h"
#include "engine/transaction.h"
#include "lab/wrap/close_queue.h"
#include "lab/wrap/log_room.h"
#include "lab/wrap/wrap.h"
#include "lab/wrap/wrap_layout.h"
#include "lab/wrap/wrap_writer.h"

namespace kamino::engine {

// Thread-safe.
class WrapLog {
 public:
  // The log must be recovered: it is empty. When there is no room, a wrap waits
  // at most this long for others to end.
  WrapLog(const WrapLayout& layout, absl::Duration log_wait);

  // Where wraps go on that have no bucket left; must outlive all use. Before
  // the first Open.
  void UseHeap(Heap* heap) { heap_ = heap; }

  // --- A transaction's wrap.

  // Takes a bucket if it has none. kResourceExhausted (kLog): as many wraps are
  // open as there are buckets, nothing else is left to retire.
  absl::Status Open(Wrap* wrap);
  // Opens it if need be and adds what `bytes` at `address` of the region are to
  // be; whole lines of the log are flushed. kResourceExhausted (kLog,
  // kTransaction): no room; the wrap can only be forgotten.
  absl::Status Append(Wrap* wrap, uint64_t address,
                      absl::Span<const std::byte> bytes);
  // Makes all of that durable; it does not count yet.
  void Drain(Wrap* wrap);
  // Draws its sequence and writes the marker, durably: now it counts.
  // `commit_sequence` 0: the next one. It must be open.
  void Close(Wrap* wrap, uint64_t commit_sequence);
  // The wrap has closed and may retire: its owner neither reads nor changes it
  // any more.
  void HandOver(Wrap wrap);
  // Rolls back a wrap that has not closed. Not with the allocator's locks held.
  void Forget(Wrap* wrap);

  // --- Stores outside of transactions. `wrap` is closed now and then on the
  // way: such stores are not atomic.
  void AppendAnonymous(Wrap* wrap, uint64_t address,
                       absl::Span<const std::byte> bytes);
  void CloseAnonymous(Wrap* wrap);

  // Brings up to `most` wraps home, in the order of their closes, as far as
  // those are durable. Returns how many.
  size_t Retire(size_t most);
  // Whether closed wraps have so many buckets that Retire should go on.
  bool WantsRetire() const;
  // Calls `release` for each block whose wrap has retired since the last time:
  // it is the allocator's again. Not with the allocator's locks held.
  void ReleaseFreed(absl::FunctionRef<void(ObjectId)> release);

  uint64_t retired() const;  // every close up to here is durably home

 private:
  void OpenAnonymous(Wrap* wrap);
  // Leaves `kept` free ones for others.
  std::optional<uint64_t> TryTakeBucket(size_t kept);
  std::optional<LogPiece> TryTakeBlock(size_t records);
  // More room for `bytes` of records.
  absl::Status MakeRoom(Wrap* wrap, size_t bytes);
  absl::Status AddPiece(Wrap* wrap, size_t bytes);
  uint64_t given() const;  // LogRoom's
  // There is no room for one that began to look for it at that given().
  absl::Status Full(uint64_t given) const;

  void CloseWith(Wrap* wrap, std::optional<uint64_t> commit_sequence);
  // Until all that has been handed over has retired.
  void RetireAllClosed();

  const WrapLayout layout_;
  Region* const region_;
  const WrapWriter writer_;
  const absl::Duration log_wait_;
  Heap* heap_ = nullptr;

  // Held by the thread that retires. Taken before the other.
  Mutex retire_mutex_;
  uint64_t last_sequence_ ABSL_GUARDED_BY(retire_mutex_);  // in the header

  mutable Mutex mutex_;
  LogRoom room_ ABSL_GUARDED_BY(mutex_);
  CloseQueue closes_ ABSL_GUARDED_BY(mutex_);
  size_t open_ ABSL_GUARDED_BY(mutex_) = 0;  // wraps
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_WRAP_WRAP_LOG_H_
