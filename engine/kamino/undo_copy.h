// Keeps the old content of a transaction's objects, so that it can be rolled
// back (section 4). docs/formats/undo_copy.md describes the layouts.
#ifndef KAMINO_ENGINE_KAMINO_UNDO_COPY_H_
#define KAMINO_ENGINE_KAMINO_UNDO_COPY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/explore.h"
#include "engine/heap/heap.h"
#include "engine/heap/heap_format.h"
#include "engine/pmem/region.h"
#include "engine/prefetch.h"
#include "engine/transaction.h"

namespace kamino::engine {

class UndoLog;

struct UndoCopyStats {
  uint64_t hits = 0;    // intents whose object had a copy
  uint64_t misses = 0;  // copies made in the critical path
  uint64_t evictions = 0;
  uint64_t bytes_used = 0;
  uint64_t bytes_total = 0;
};

// Counts of hits and misses by thread, without locked instructions. Exact while
// no two threads that count share one of the kThreads places.
class CopyCounts {
 public:
  void AddHit() { Add(&mine().hits); }
  void AddMiss() { Add(&mine().misses); }
  // Adds the counts of all threads.
  void AddTo(UndoCopyStats* stats) const {
    for (const Counts& counts : counts_) {
      stats->hits += counts.hits.load(std::memory_order_relaxed);
      stats->misses += counts.misses.load(std::memory_order_relaxed);
    }
  }

 private:
  struct alignas(64) Counts {
    std::atomic<uint64_t> hits{0};
    std::atomic<uint64_t> misses{0};
  };
  static constexpr size_t kThreads = 16;

  static void Add(std::atomic<uint64_t>* count) {
    count->store(count->load(std::memory_order_relaxed) + 1,
                 std::memory_order_relaxed);
  }
  Counts& mine() {
    static std::atomic<size_t> next{0};
    thread_local const size_t mine = next.fetch_add(1) % kThreads;
    return counts_[mine];
  }

  std::array<Counts, kThreads> counts_;
};

// Thread-safe while the callers hold the objects' exclusive locks.
class UndoCopy {
 public:
  virtual ~UndoCopy() = default;

  // "kamino-simple", "kamino-dynamic" or "undo-log".
  virtual absl::string_view scheme() const = 0;

  // Not null for an undo log, which keeps no copies but the old bytes of ranges
  // as long as they may be rolled back. Then only region() and stats() of the
  // other functions are called, and transactions run one at a time.
  virtual UndoLog* undo_log() { return nullptr; }

  // Ensures that a durable copy of the object's payload exists, and keeps it in
  // place until Unpin; returns its bytes, in this region. The holder of the
  // object's lock keeps them up to date. The heap's bytes are still those
  // before the transaction. kResourceExhausted: all copies are pinned.
  virtual absl::StatusOr<std::byte*> EnsureCopy(ObjectId id) = 0;

  // Whether copies mirror the heap and stay in place without pins: Unpin then
  // does nothing.
  bool is_mirror() const { return mirror_.bits != nullptr; }
  // As EnsureCopy if this is a mirror of the heap that has the object's copy;
  // there is no pin to end. Null otherwise.
  std::byte* FindMirrored(ObjectId id) {
    if (mirror_.bits == nullptr || !mirror_.Has(id)) return nullptr;
    Reached(Branch::kCopyThere);
    mirror_.counts->AddHit();
    return mirror_.bytes + id;
  }

  // As EnsureCopy for several distinct objects, with one set of drains. Returns
  // their copies' bytes in order; null without room.
  virtual std::vector<std::byte*> EnsureCopies(absl::Span<const ObjectId> ids);

  // Loads what EnsureCopy reads first into the cache and, of a mirror, the
  // translation of the page where a copy of `length` bytes ends. Any numbers
  // are allowed.
  void Prefetch(ObjectId id, size_t length) const {
    if (!is_mirror()) return PrefetchCopy(id);
    PrefetchToRead(reinterpret_cast<uintptr_t>(mirror_.bits) +
                   id / Mirror::kUnit / 64 * sizeof(*mirror_.bits));
    PrefetchToRead(reinterpret_cast<uintptr_t>(mirror_.bytes) + id + length);
  }

  // The object is new: returns a place for a copy of its whole payload, which
  // the caller then stores; null if there will be no copy. Place and bytes are
  // durable with this thread's next Drain.
  virtual std::byte* CopyOfNew(ObjectId id) = 0;

  // The copy's bytes. kDataLoss: no copy.
  virtual absl::StatusOr<absl::Span<std::byte>> Copy(ObjectId id) = 0;

  // The object is gone: its copy is void. Durable with this thread's next
  // Drain; only after that may its id be used again.
  virtual void Drop(ObjectId id) = 0;

  // After that Drain: ends the effect of EnsureCopy or Drop.
  virtual void Unpin(ObjectId id) = 0;

  // Drops all copies but the pinned ones. If none is pinned, copies that fit
  // together can be made again, the largest first, wherever the old ones were.
  virtual void EvictAll() {}

  // For this thread's drains.
  virtual Region* region() const = 0;

  // Called before copies are evicted, by any thread, several at a time, with no
  // lock held. The listener's own changes must be durable when it returns.
  using EvictionListener = std::function<void(absl::Span<const ObjectId>)>;
  virtual void SetEvictionListener(EvictionListener listener) = 0;

  virtual UndoCopyStats stats() const = 0;

 protected:
  // A mirror of the heap at the same offsets, and a bit for each unit of it:
  // whether the object there has a copy.
  struct Mirror {
    uint64_t* bits = nullptr;
    std::byte* bytes = nullptr;
    CopyCounts* counts = nullptr;

    uint64_t* WordOf(ObjectId id) const { return &bits[id / kUnit / 64]; }
    static uint64_t MaskOf(ObjectId id) {
      return uint64_t{1} << (id / kUnit % 64);
    }
    bool Has(ObjectId id) const {
      return (__atomic_load_n(WordOf(id), __ATOMIC_ACQUIRE) & MaskOf(id)) != 0;
    }
    static constexpr size_t kUnit = heap_format::kUnitBytes;
  };

  UndoCopy() = default;
  explicit UndoCopy(const Mirror& mirror) : mirror_(mirror) {}

  const Mirror& mirror() const { return mirror_; }

  // Prefetch, of one that is no mirror.
  virtual void PrefetchCopy(ObjectId) const {}

 private:
  const Mirror mirror_;  // of one that is no mirror: empty
};

// Size of an undo copy region: as large as the heap and a little more.
size_t SimpleUndoCopyBytes(size_t heap_bytes);
// alpha in (0, 1]: fraction of the heap's size.
size_t DynamicUndoCopyBytes(size_t heap_bytes, double alpha);

// kamino-simple (section 4.1): a mirror of the heap at the same offsets, which
// starts empty and fills on demand. `heap` and `region` must outlive it.
absl::StatusOr<std::unique_ptr<UndoCopy>> CreateSimpleUndoCopy(const Heap* heap,
                                                               Region* region);
// kFailedPrecondition: another heap's, not a simple undo copy, another version.
absl::StatusOr<std::unique_ptr<UndoCopy>> OpenSimpleUndoCopy(const Heap* heap,
                                                             Region* region);

// kamino-dynamic (section 4.2): copies of the objects written last, in a
// bounded region.
absl::StatusOr<std::unique_ptr<UndoCopy>> CreateDynamicUndoCopy(
    const Heap* heap, Region* region);
absl::StatusOr<std::unique_ptr<UndoCopy>> OpenDynamicUndoCopy(const Heap* heap,
                                                              Region* region);

// Undo logging: bytes are copied in the critical path before they are
// overwritten, and dropped at the commit. For `bytes` in total, records
// included.
size_t LogUndoCopyBytes(size_t bytes);
absl::StatusOr<std::unique_ptr<UndoCopy>> CreateLogUndoCopy(const Heap* heap,
                                                            Region* region);
absl::StatusOr<std::unique_ptr<UndoCopy>> OpenLogUndoCopy(const Heap* heap,
                                                          Region* region);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_UNDO_COPY_H_
