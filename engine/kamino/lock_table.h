// Locks of objects: shared for those a transaction has read, exclusive for
// those it has declared (section 3: an object stays locked until its backup is
// in sync).
#ifndef KAMINO_ENGINE_KAMINO_LOCK_TABLE_H_
#define KAMINO_ENGINE_KAMINO_LOCK_TABLE_H_

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
class LockTable {
 public:
  using Owner = uint64_t;

  LockTable();
  ~LockTable();

  // All return false when `wait` ran out; zero never waits. A shared lock may
  // be taken several times, each to be unlocked; an exclusive one is its
  // owner's once and for all, so taking it again changes nothing.
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

  bool HeldExclusive(ObjectId id, Owner owner) const;
  bool AnyExclusive(ObjectId id) const;

  size_t exclusive() const;  // objects locked so

 private:
  struct Lock {
    ObjectId id = kNullObject;
    Owner exclusive = 0;
    uint32_t shared = 0;
    Owner upgrading = 0;  // waits for the others' shared locks to go
  };
  // The locks of the objects that hash to it. One cache line holds what most
  // shards ever have: one lock.
  struct alignas(64) Shard {
    mutable SpinLock mutex;
    bool used ABSL_GUARDED_BY(mutex) = false;
    int waiters ABSL_GUARDED_BY(mutex) = 0;
    Lock first ABSL_GUARDED_BY(mutex);
    std::vector<Lock> others ABSL_GUARDED_BY(mutex);

    Lock* Find(ObjectId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
    Lock* FindOrAdd(ObjectId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
    // Forgets a lock that nobody holds.
    void Tidy(Lock* lock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  };

  static constexpr size_t kShards = 4096;

  Shard& ShardOf(ObjectId id) const;
  // Calls `take`, which says whether it could, until it can.
  template <typename Take>
  bool Acquire(ObjectId id, absl::Duration wait, Take take);
  bool TakeShared(ObjectId id, Owner owner);
  bool TakeExclusive(ObjectId id, Owner owner, bool upgrade);
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
