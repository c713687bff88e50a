#include "engine/kamino/lock_table.h"

#include "absl/time/clock.h"
#include "glog/logging.h"

namespace kamino::engine {

LockTable::LockTable() : shards_(new Shard[kShards]) {}

LockTable::~LockTable() = default;

LockTable::Shard& LockTable::ShardOf(ObjectId id) const {
  // Multiplicative hashing; ids are multiples of 64.
  const uint64_t hash = (id >> 6) * 0x9e3779b97f4a7c15ull;
  static_assert(kShards == uint64_t{1} << (64 - 52));
  return shards_[hash >> 52];
}

LockTable::Lock* LockTable::Shard::Find(ObjectId id) {
  if (used && first.id == id) return &first;
  for (Lock& lock : others) {
    if (lock.id == id) return &lock;
  }
  return nullptr;
}

LockTable::Lock* LockTable::Shard::FindOrAdd(ObjectId id) {
  if (Lock* lock = Find(id); lock != nullptr) return lock;
  if (!used) {
    used = true;
    first = {id, 0, 0, 0};
    return &first;
  }
  others.push_back({id, 0, 0, 0});
  return &others.back();
}

void LockTable::Shard::Tidy(Lock* lock) {
  if (lock->exclusive != 0 || lock->shared != 0) return;
  if (lock == &first) {
    used = false;
    return;
  }
  *lock = others.back();
  others.pop_back();
}

bool LockTable::TakeShared(ObjectId id, Owner owner) {
  Shard& shard = ShardOf(id);
  SpinLockHolder guard(&shard.mutex);
  Lock* lock = shard.FindOrAdd(id);
  if (lock->exclusive != 0 && lock->exclusive != owner) return false;
  ++lock->shared;
  return true;
}

bool LockTable::TakeExclusive(ObjectId id, Owner owner, bool upgrade) {
  Shard& shard = ShardOf(id);
  SpinLockHolder guard(&shard.mutex);
  Lock* lock = shard.FindOrAdd(id);
  if (lock->exclusive == owner) return true;
  const uint32_t own = upgrade ? 1 : 0;
  if (lock->exclusive != 0 || lock->shared != own) return false;
  lock->shared = 0;
  lock->exclusive = owner;
  return true;
}

template <typename Take>
bool LockTable::Acquire(ObjectId id, absl::Duration wait, Take take) {
  if (take()) return true;
  if (wait <= absl::ZeroDuration()) return false;
  const absl::Time deadline = absl::Now() + wait;
  Shard& shard = ShardOf(id);
  const auto count_me = [&shard](int change) {
    SpinLockHolder guard(&shard.mutex);
    shard.waiters += change;
  };
  absl::MutexLock guard(&mutex_);
  // Whoever unlocks after this sees that somebody waits, and comes to signal
  // once this thread lets go of mutex_; whoever has before is seen by take().
  count_me(1);
  bool taken = take();
  while (!taken && !released_.WaitWithDeadline(&mutex_, deadline)) {
    taken = take();
  }
  if (!taken) taken = take();
  count_me(-1);
  return taken;
}

void LockTable::WakeWaiters() {
  absl::MutexLock guard(&mutex_);
  released_.SignalAll();
}

bool LockTable::LockShared(ObjectId id, Owner owner, absl::Duration wait) {
  return Acquire(id, wait, [&] { return TakeShared(id, owner); });
}

bool LockTable::BeginUpgrade(ObjectId id, Owner owner) {
  Shard& shard = ShardOf(id);
  SpinLockHolder guard(&shard.mutex);
  Lock* lock = shard.Find(id);
  if (lock->upgrading != 0) return false;
  lock->upgrading = owner;
  return true;
}

void LockTable::EndUpgrade(ObjectId id, Owner owner) {
  Shard& shard = ShardOf(id);
  SpinLockHolder guard(&shard.mutex);
  Lock* lock = shard.Find(id);
  if (lock->upgrading == owner) lock->upgrading = 0;
}

bool LockTable::LockExclusive(ObjectId id, Owner owner, bool upgrade,
                              absl::Duration wait) {
  const auto take = [&] { return TakeExclusive(id, owner, upgrade); };
  if (take()) return true;
  if (wait <= absl::ZeroDuration()) return false;
  if (!upgrade) return Acquire(id, wait, take);
  if (!BeginUpgrade(id, owner)) return false;
  const bool taken = Acquire(id, wait, take);
  EndUpgrade(id, owner);  // whoever holds it, the lock is there
  return taken;
}

void LockTable::UnlockShared(ObjectId id) {
  bool awaited;
  {
    Shard& shard = ShardOf(id);
    SpinLockHolder guard(&shard.mutex);
    Lock* lock = shard.Find(id);
    CHECK(lock != nullptr && lock->shared > 0);
    --lock->shared;
    shard.Tidy(lock);
    awaited = shard.waiters > 0;
  }
  if (awaited) WakeWaiters();
}

bool LockTable::UnlockExclusive(ObjectId id, Owner owner) {
  bool awaited;
  {
    Shard& shard = ShardOf(id);
    SpinLockHolder guard(&shard.mutex);
    Lock* lock = shard.Find(id);
    if (lock == nullptr || lock->exclusive != owner) return false;
    lock->exclusive = 0;
    shard.Tidy(lock);
    awaited = shard.waiters > 0;
  }
  if (awaited) WakeWaiters();
  return true;
}

void LockTable::Seize(ObjectId id, Owner owner) {
  Shard& shard = ShardOf(id);
  SpinLockHolder guard(&shard.mutex);
  Lock* lock = shard.FindOrAdd(id);
  CHECK_EQ(lock->shared, 0u);
  lock->exclusive = owner;
}

bool LockTable::HeldExclusive(ObjectId id, Owner owner) const {
  Shard& shard = ShardOf(id);
  SpinLockHolder guard(&shard.mutex);
  const Lock* lock = shard.Find(id);
  return lock != nullptr && lock->exclusive == owner;
}

bool LockTable::AnyExclusive(ObjectId id) const {
  Shard& shard = ShardOf(id);
  SpinLockHolder guard(&shard.mutex);
  const Lock* lock = shard.Find(id);
  return lock != nullptr && lock->exclusive != 0;
}

size_t LockTable::exclusive() const {
  size_t count = 0;
  for (size_t i = 0; i < kShards; ++i) {
    Shard& shard = shards_[i];
    SpinLockHolder guard(&shard.mutex);
    count += shard.used && shard.first.exclusive != 0;
    for (const Lock& lock : shard.others) count += lock.exclusive != 0;
  }
  return count;
}

}  // namespace kamino::engine
