// Locks of objects: shared for objects that a transaction has read, exclusive
// for those it has declared (section 3: an object stays locked until its
// changes are in the undo copy).
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
#include "engine/prefetch.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Thread-safe. Owners are tokens that the caller chooses, not 0. Sharded by
// object, so that threads seldom contend; only waiting threads share anything.
//
// A shard has a word for one lock. One locked instruction takes it; releasing
// an exclusive one needs none. Locks of other objects with the same shard are
// meanwhile in a list.
//
// Invariants:
//   1. An object's lock is in its shard's word or in its list, not in both.
//   2. A thread that changes the word from 0 and one that adds to the list
//      cannot miss each other: each stores first and looks then.
//   3. While a word says exclusive only the holder stores to it.
class LockTable {
 public:
  using Owner = uint64_t;

  LockTable();
  ~LockTable();

  // All return false when `wait` has passed; zero never waits. A shared lock
  // may be taken several times, and must be unlocked as often; taking an
  // exclusive one again changes nothing. A lock may be refused while another
  // owner, which is refused as well, is trying.
  bool LockShared(ObjectId id, Owner owner, absl::Duration wait);
  // With `upgrade` the owner holds one shared lock, which becomes this one. If
  // two owners want to upgrade their locks of one object, the second fails at
  // once: each would wait for the other.
  bool LockExclusive(ObjectId id, Owner owner, bool upgrade,
                     absl::Duration wait);

  // Loads the state of the calls above into the cache.
  void Prefetch(ObjectId id) const { PrefetchToWrite(&ShardOf(id)); }

  void UnlockShared(ObjectId id);
  // Returns false when the lock is another owner's by now.
  bool UnlockExclusive(ObjectId id, Owner owner);

  // Makes `owner` the holder unconditionally: for recovery, before any
  // transaction.
  void Seize(ObjectId id, Owner owner);

  // The exclusive holder at some moment within the call; 0: none, or one that
  // has just locked it.
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
    // An id and the state of its lock; 0: not locked.
    std::atomic<uint64_t> word{0};
    // The word's lock.
    std::atomic<Owner> owner{0};      // 0 for a moment after it was taken
    std::atomic<Owner> upgrading{0};  // waits for the others' shared locks
    // Size of the list; changes with the mutex held.
    std::atomic<uint32_t> listed{0};
    std::atomic<int> waiters{0};
    mutable SpinLock mutex;
    std::vector<Lock> others ABSL_GUARDED_BY(mutex);

    Lock* Find(ObjectId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
    // Forgets a lock without holders.
    void Tidy(Lock* lock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  };
  // A caller's request.
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

  // Calls `take` until it succeeds.
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
  // The same for a caller that holds the mutex and knows that the list does not
  // have it.
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
