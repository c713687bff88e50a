#include "engine/kamino/lock_table.h"

#include "absl/time/clock.h"
#include "glog/logging.h"

namespace kamino::engine {

template <typename Free, typename Take>
bool LockTable::Acquire(ObjectId id, absl::Duration wait, Free free,
                        Take take) {
  absl::MutexLock guard(&mutex_);
  if (!free(locks_[id])) {
    const absl::Time deadline =
        wait > absl::ZeroDuration() ? absl::Now() + wait : absl::InfinitePast();
    ++waiters_;
    bool is_free = false;
    while (!is_free && absl::Now() < deadline) {
      released_.WaitWithDeadline(&mutex_, deadline);
      is_free = free(locks_[id]);
    }
    --waiters_;
    if (!is_free) return false;
  }
  take(locks_[id]);
  return true;
}

bool LockTable::LockShared(ObjectId id, Owner owner, absl::Duration wait) {
  return Acquire(
      id, wait,
      [owner](const Lock& lock) {
        return lock.exclusive == 0 || lock.exclusive == owner;
      },
      [](Lock& lock) { ++lock.shared; });
}

bool LockTable::LockExclusive(ObjectId id, Owner owner, bool upgrade,
                              absl::Duration wait) {
  const uint32_t own = upgrade ? 1 : 0;
  return Acquire(
      id, wait,
      [owner, own](const Lock& lock) {
        return lock.exclusive == owner ||
               (lock.exclusive == 0 && lock.shared == own);
      },
      [this, owner, own](Lock& lock) {
        mutex_.AssertHeld();
        if (lock.exclusive == owner) return;
        lock.shared -= own;
        lock.exclusive = owner;
        ++exclusive_;
      });
}

void LockTable::UnlockShared(ObjectId id) {
  absl::MutexLock guard(&mutex_);
  const auto found = locks_.find(id);
  CHECK(found != locks_.end() && found->second.shared > 0);
  --found->second.shared;
  if (found->second.shared == 0 && found->second.exclusive == 0) {
    locks_.erase(found);
  }
  if (waiters_ > 0) released_.SignalAll();
}

bool LockTable::UnlockExclusive(ObjectId id, Owner owner) {
  absl::MutexLock guard(&mutex_);
  const auto found = locks_.find(id);
  if (found == locks_.end() || found->second.exclusive != owner) return false;
  found->second.exclusive = 0;
  --exclusive_;
  if (found->second.shared == 0) locks_.erase(found);
  if (waiters_ > 0) released_.SignalAll();
  return true;
}

void LockTable::Seize(ObjectId id, Owner owner) {
  absl::MutexLock guard(&mutex_);
  Lock& lock = locks_[id];
  CHECK_EQ(lock.shared, 0u);
  if (lock.exclusive == 0) ++exclusive_;
  lock.exclusive = owner;
}

bool LockTable::HeldExclusive(ObjectId id, Owner owner) const {
  absl::MutexLock guard(&mutex_);
  const auto found = locks_.find(id);
  return found != locks_.end() && found->second.exclusive == owner;
}

size_t LockTable::exclusive() const {
  absl::MutexLock guard(&mutex_);
  return exclusive_;
}

}  // namespace kamino::engine
