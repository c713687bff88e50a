// Locks of objects: shared for those a transaction has read, exclusive for
// those it has declared (section 3: an object stays locked until what was
// stored to it is in the backup).
#ifndef KAMINO_ENGINE_KAMINO_LOCK_TABLE_H_
#define KAMINO_ENGINE_KAMINO_LOCK_TABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "engine/kamino/spin_lock.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Thread-safe. Owners are tokens that the caller chooses, not 0. Sharded by
// object, so that threads seldom meet; only those that wait share anything.
//
// A shard has a word for one lock, which is taken by one locked instruction,
// and given back, where it was exclusive, by none. Locks of other objects that
// hash to the shard meanwhile are in a list.
//
// Invariants:
//   1. An object's lock is in its shard's word or in its list, not in both.
//   2. Of who moves the word from 0, and who adds to the list, at least one
//      sees the other: each does so first and looks then.
//   3. While a word says exclusive only the holder stores to it.
class LockTable {
 public:
  using Owner = uint64_t;

  LockTable();
  ~LockTable();

  // All return false when `wait` ran out; zero never waits. A shared lock may
  // be taken several times, each to be unlocked; an exclusive one is its
  // owner's once and for all, so taking it again changes nothing. One may be
  // refused while another, who will be refused as well, is looking.
  bool LockShared(ObjectId id, Owner owner, absl::Duration wait);
  // With `upgrade` the owner holds one shared lock, which becomes this one. Of
  // two owners that want to upgrade their locks of one object, the second fails
  // at once: each would wait for the other.
  bool LockExclusive(ObjectId id, Owner owner, bool upgrade,
                     absl::Duration wait);

  // Brings what the calls above look at into the cache.
  void Prefetch(ObjectId id) const { __builtin_prefetch(&ShardOf(id), 1); }

  void UnlockShared(ObjectId id);
  // Returns false when the lock is another owner's by now.
  bool UnlockExclusive(ObjectId id, Owner owner);

  // Makes `owner` the holder, whoever is: recovery's, before any transaction.
  void Seize(ObjectId id, Owner owner);

  // Who holds it exclusively, as of some moment within the call; 0: nobody, or
  // somebody since just now.
  Owner Holder(ObjectId id) const;
  bool HeldExclusive(ObjectId id, Owner owner) const {
    return Holder(id) == owner;
  }
  bool AnyExclusive(ObjectId id) const;

  size_t exclusive() const;  // objects locked so

 private:
  struct Lock {
    ObjectId id = kNullObject;
    Owner exclusive = 0;
    uint32_t shared = 0;
    Owner upgrading = 0;  // waits for the others' shared locks to go
  };
  // The locks of the objects that hash to it.
  struct alignas(64) Shard {
    // An id and who has its lock; 0: nobody.
    std::atomic<uint64_t> word{0};
    // Of the word's lock.
    std::atomic<Owner> owner{0};      // 0 for a moment after it was taken
    std::atomic<Owner> upgrading{0};  // waits for the others' shared locks
    // Of the list; changes with the mutex held.
    std::atomic<uint32_t> listed{0};
    std::atomic<int> waiters{0};
    mutable SpinLock mutex;
    std::vector<Lock> others ABSL_GUARDED_BY(mutex);

    Lock* Find(ObjectId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
    // Forgets a lock that nobody holds.
    void Tidy(Lock* lock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  };
  // What a caller wants.
  struct Wish {
    ObjectId id;
    Owner owner;
    bool exclusive;
    bool upgrade;
  };
  enum class Outcome { kTaken, kRefused, kNotHere };

  static constexpr size_t kShards = 4096;

  Shard& ShardOf(ObjectId id) const {
    // Multiplicative hashing; ids are multiples of 64.
    const uint64_t hash = (id >> 6) * 0x9e3779b97f4a7c15ull;
    static_assert(kShards == uint64_t{1} << (64 - 52));
    return shards_[hash >> 52];
  }

  // Calls `take`, which says whether it could, until it can.
  template <typename Take>
  bool Acquire(ObjectId id, absl::Duration wait, Take take);
  bool TryTake(const Wish& wish) {
    Shard& shard = ShardOf(wish.id);
    const Outcome outcome = TakeWord(shard, wish);
    if (outcome != Outcome::kNotHere) return outcome == Outcome::kTaken;
    return TakeSlowly(shard, wish);
  }
  // By the shard's word. kNotHere: it is another object's, or the list may hold
  // this one.
  static Outcome TakeWord(Shard& shard, const Wish& wish);
  // The same for whoever holds the mutex and knows that the list has it not.
  static Outcome TakeFreeWord(Shard& shard, const Wish& wish);
  static bool TakeSlowly(Shard& shard, const Wish& wish);
  static bool TakeListed(Lock* lock, const Wish& wish);
  static void DropShare(Shard& shard);  // of the word's lock
  // False: another owner is about to.
  bool BeginUpgrade(ObjectId id, Owner owner);
  void EndUpgrade(ObjectId id, Owner owner);
  void WakeWaiters();

  const std::unique_ptr<Shard[]> shards_;

  absl::Mutex mutex_;
  absl::CondVar released_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_LOCK_TABLE_H_
