// Locks of objects: shared for those a transaction has read, exclusive for
// those it has declared (section 3: an object stays locked until its backup is
// in sync).
#ifndef KAMINO_ENGINE_KAMINO_LOCK_TABLE_H_
#define KAMINO_ENGINE_KAMINO_LOCK_TABLE_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Thread-safe. Owners are tokens that the caller chooses, not 0.
class LockTable {
 public:
  using Owner = uint64_t;

  // All return false when `wait` ran out. A shared lock may be taken several
  // times, each to be unlocked; an exclusive one is its owner's once and for
  // all, so taking it again changes nothing.
  bool LockShared(ObjectId id, Owner owner, absl::Duration wait);
  // With `upgrade` the owner holds one shared lock, which becomes this one.
  bool LockExclusive(ObjectId id, Owner owner, bool upgrade,
                     absl::Duration wait);

  void UnlockShared(ObjectId id);
  // Returns false when the lock is another owner's by now.
  bool UnlockExclusive(ObjectId id, Owner owner);

  // Makes `owner` the holder, whoever is: recovery's, before any transaction.
  void Seize(ObjectId id, Owner owner);

  bool HeldExclusive(ObjectId id, Owner owner) const;

  size_t exclusive() const;  // objects locked so

 private:
  struct Lock {
    Owner exclusive = 0;
    uint32_t shared = 0;
  };

  // Waits until `free` holds for the object's lock, then lets `take` change it.
  template <typename Free, typename Take>
  bool Acquire(ObjectId id, absl::Duration wait, Free free, Take take);

  mutable absl::Mutex mutex_;
  absl::CondVar released_;
  int waiters_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<ObjectId, Lock> locks_ ABSL_GUARDED_BY(mutex_);
  size_t exclusive_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_LOCK_TABLE_H_
