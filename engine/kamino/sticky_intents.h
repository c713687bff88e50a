// Intents that outlive their transaction (an extension of Kamino-Tx, section
// 3): the objects that may differ from their undo copies. For an object that is
// written again the intent is durable already, and the transaction saves a
// drain. docs/formats/commit_log.md.
//
// Invariants:
//   1. An object has an entry, durably, before anything is stored to it.
//   2. An entry is replaced only while its object is not locked; then the
//      undo copy has the object's current state, and keeps the copy until the
//      entry is gone from media, whichever entry has replaced it.
#ifndef KAMINO_ENGINE_KAMINO_STICKY_INTENTS_H_
#define KAMINO_ENGINE_KAMINO_STICKY_INTENTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "engine/explore.h"
#include "engine/kamino/lock_table.h"
#include "engine/kamino/spin_lock.h"
#include "engine/pmem/region.h"
#include "engine/prefetch.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Thread-safe.
class StickyIntents {
 public:
  // `area` is the heap's log area, in `region`; all must outlive this.
  StickyIntents(Region* region, const LockTable* locks,
                absl::Span<std::byte> area);

  enum class Added {
    kWasThere,
    kNew,       // stored and flushed, must be drained
    kReplaced,  // the same, in another's place: call Drained then
    kNoRoom,    // all entries that it could replace are of locked objects
  };
  // The caller holds the object's exclusive lock.
  Added Add(ObjectId id);

  // Whether Add(id) would return kWasThere, as far as one look tells; the
  // caller holds the object's exclusive lock. False: call Add.
  bool Has(ObjectId id) const {
    bool found = false;
    // All ways: a branch for each would often be mispredicted.
    for (const std::atomic<ObjectId>& way : FrontOf(id).ways) {
      found |= way.load() == id;
    }
    if (found) Reached(Branch::kIntentThere);
    return found;
  }

  // The stores of Add(id) are durable.
  void Drained(ObjectId id);

  // Loads into the cache what Add reads first.
  void Prefetch(ObjectId id) const { PrefetchToRead(&FrontOf(id)); }

  // Removes the intent, and returns what must be flushed and drained so that
  // none is left on media. After that, Forget frees its place. The caller holds
  // the object's lock, or the undo copy its copy.
  struct Cleared {
    const uint64_t* entry = nullptr;  // to be flushed, if any
    bool drain = false;               // anything to drain, flushed here or not
  };
  Cleared Clear(ObjectId id);
  void Forget(ObjectId id);

  // The entries on media, in no order. Before the first Add.
  std::vector<ObjectId> Scan() const;

  // Removes all; durable on return.
  void Reset();

 private:
  struct Slot {
    ObjectId id = kNullObject;
    bool recent = false;  // for the second chance
  };
  // An entry that another has replaced, perhaps not durably yet: until then the
  // old one may reappear after a crash.
  struct Replaced {
    ObjectId id;
    ObjectId by;
    uint32_t slot;
  };
  struct alignas(64) Shard {
    SpinLock mutex;
    absl::flat_hash_map<ObjectId, uint32_t> index ABSL_GUARDED_BY(mutex);
    std::vector<Slot> slots ABSL_GUARDED_BY(mutex);
    uint32_t hand ABSL_GUARDED_BY(mutex) = 0;
    // At most as many per thread as it declares at once; an object can be here
    // several times.
    std::vector<Replaced> replaced ABSL_GUARDED_BY(mutex);
  };
  static constexpr size_t kShards = 16;

  // Looked up first, without a lock. An id found here has an entry; the
  // caller's exclusive lock of the object keeps it so: a thread that replaces
  // an entry first removes it here, and then checks for a lock. A set is a
  // cache line: with one way, a few thousand objects would displace each other.
  struct alignas(64) FrontSet {
    std::atomic<ObjectId> ways[8] = {};
  };
  static constexpr size_t kFrontSets = 1 << 12;
  FrontSet& FrontOf(ObjectId id) const {
    static_assert(kFrontSets == uint64_t{1} << (64 - 52));
    return front_[(id >> 6) * 0x9e3779b97f4a7c15ull >> 52];
  }
  // Both with the mutex of the object's shard; a set belongs to one shard. In a
  // full set `slot` chooses the way that the id takes.
  void EnterFront(ObjectId id, uint32_t slot);
  void LeaveFront(ObjectId id);

  size_t ShardOf(ObjectId id) const;
  const uint64_t* Store(size_t shard, uint32_t slot, ObjectId id);

  Region* const region_;
  const LockTable* const locks_;
  const absl::Span<uint64_t> table_;
  const size_t per_shard_;
  const std::unique_ptr<Shard[]> shards_;
  const std::unique_ptr<FrontSet[]> front_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_STICKY_INTENTS_H_
