#include "engine/kamino/lock_table.h"

#include <algorithm>

#include "base/clock.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

// A shard's word: bit 63 exclusive, bits 62..48 the number of sharers, bits
// 47..0 the id. Ids that do not fit, which belong to no object, are listed.
constexpr uint64_t kExclusive = uint64_t{1} << 63;
constexpr uint64_t kOneShare = uint64_t{1} << 48;
constexpr uint64_t kSharesMask = kExclusive - kOneShare;
constexpr uint64_t kIdMask = kOneShare - 1;

constexpr bool Fits(ObjectId id) { return (id & kIdMask) == id && id != 0; }

// Spins of a waiting thread before it sleeps: longer than a short transaction,
// shorter than a wake-up.
constexpr int kSpins = 200;

// An unlocking thread may miss a thread that has just begun to wait.
constexpr absl::Duration kLongestSleep = absl::Microseconds(100);

}  // namespace

LockTable::LockTable() : shards_(new Shard[kShards]) {}

LockTable::~LockTable() = default;

LockTable::Lock* LockTable::Shard::Find(ObjectId id) {
  for (Lock& lock : others) {
    if (lock.id == id) return &lock;
  }
  return nullptr;
}

void LockTable::Shard::Tidy(Lock* lock) {
  if (lock->exclusive != 0 || lock->shared != 0) return;
  *lock = others.back();
  others.pop_back();
  listed.store(static_cast<uint32_t>(others.size()));
}

// --- Taking.

LockTable::Outcome LockTable::TakeFreeWord(Shard& shard, const Wish& wish) {
  if (!Fits(wish.id)) return Outcome::kNotHere;
  uint64_t word = shard.word.load(std::memory_order_relaxed);
  for (;;) {
    uint64_t taken = 0;
    if (word == 0) {
      taken = wish.id | (wish.exclusive ? kExclusive : kOneShare);
    } else if ((word & kIdMask) != wish.id) {
      return Outcome::kNotHere;
    } else if ((word & kExclusive) != 0) {
      // Then it is this owner's own: only the owner can have stored that.
      const bool own =
          shard.owner.load(std::memory_order_relaxed) == wish.owner;
      if (own && !wish.exclusive) shard.word.fetch_add(kOneShare);
      return own ? Outcome::kTaken : Outcome::kRefused;
    } else if (wish.exclusive) {
      const uint64_t own = wish.upgrade ? kOneShare : 0;
      if ((word & kSharesMask) != own) return Outcome::kRefused;
      taken = wish.id | kExclusive;
    } else {
      CHECK_NE(word & kSharesMask, kSharesMask);
      taken = word + kOneShare;
    }
    if (!shard.word.compare_exchange_weak(word, taken)) continue;
    if (wish.exclusive) {
      shard.owner.store(wish.owner, std::memory_order_relaxed);
    }
    return Outcome::kTaken;
  }
}

LockTable::Outcome LockTable::TakeWord(Shard& shard, const Wish& wish) {
  if (shard.word.load(std::memory_order_relaxed) == 0 &&
      shard.listed.load(std::memory_order_relaxed) != 0) {
    return Outcome::kNotHere;
  }
  const Outcome outcome = TakeFreeWord(shard, wish);
  if (outcome != Outcome::kTaken || shard.listed.load() == 0) return outcome;
  // There is a list, or one appears at the same time.
  SpinLockHolder guard(&shard.mutex);
  if (shard.Find(wish.id) == nullptr) return outcome;
  if (wish.exclusive) {
    shard.owner.store(0, std::memory_order_relaxed);
    shard.word.store(0);
  } else {
    DropShare(shard);
  }
  return Outcome::kNotHere;
}

bool LockTable::TakeListed(Lock* lock, const Wish& wish) {
  if (lock->exclusive == wish.owner) {
    if (!wish.exclusive) ++lock->shared;
    return true;
  }
  if (lock->exclusive != 0) return false;
  if (!wish.exclusive) {
    ++lock->shared;
    return true;
  }
  if (lock->shared != (wish.upgrade ? 1 : 0)) return false;
  lock->shared = 0;
  lock->exclusive = wish.owner;
  return true;
}

bool LockTable::TakeSlowly(Shard& shard, const Wish& wish) {
  SpinLockHolder guard(&shard.mutex);
  for (;;) {
    if (Lock* lock = shard.Find(wish.id); lock != nullptr) {
      return TakeListed(lock, wish);
    }
    const Outcome outcome = TakeFreeWord(shard, wish);
    if (outcome != Outcome::kNotHere) return outcome == Outcome::kTaken;
    shard.listed.store(static_cast<uint32_t>(shard.others.size()) + 1);
    if ((shard.word.load() & kIdMask) != wish.id || !Fits(wish.id)) break;
    // The lock has moved into the word since.
    shard.listed.store(static_cast<uint32_t>(shard.others.size()));
  }
  shard.others.push_back({wish.id, 0, 0, 0});
  return TakeListed(&shard.others.back(), wish);
}

// --- Waiting.

template <typename Take>
bool LockTable::Acquire(ObjectId id, absl::Duration wait, Take take) {
  if (take()) return true;
  if (wait <= absl::ZeroDuration()) return false;
  const absl::Time deadline = MonotonicNow() + wait;
  for (int i = 0; i < kSpins; ++i) {
    __builtin_ia32_pause();
    if (take()) return true;
  }
  Shard& shard = ShardOf(id);
  absl::MutexLock guard(&mutex_);
  shard.waiters.fetch_add(1);
  bool taken = take();
  for (absl::Time now = MonotonicNow(); !taken && now < deadline;
       now = MonotonicNow()) {
    released_.WaitWithTimeout(&mutex_, std::min(deadline - now, kLongestSleep));
    taken = take();
  }
  shard.waiters.fetch_sub(1);
  return taken;
}

void LockTable::WakeWaiters() {
  absl::MutexLock guard(&mutex_);
  released_.SignalAll();
}

bool LockTable::LockShared(ObjectId id, Owner owner, absl::Duration wait) {
  const Wish wish = {id, owner, /*exclusive=*/false, /*upgrade=*/false};
  return Acquire(id, wait, [&] { return TryTake(wish); });
}

bool LockTable::BeginUpgrade(ObjectId id, Owner owner) {
  Shard& shard = ShardOf(id);
  // It stays in the word: the owner shares it.
  if ((shard.word.load() & kIdMask) == id) {
    Owner none = 0;
    return shard.upgrading.compare_exchange_strong(none, owner);
  }
  SpinLockHolder guard(&shard.mutex);
  Lock* lock = shard.Find(id);
  if (lock->upgrading != 0) return false;
  lock->upgrading = owner;
  return true;
}

void LockTable::EndUpgrade(ObjectId id, Owner owner) {
  Shard& shard = ShardOf(id);
  if ((shard.word.load() & kIdMask) == id) {
    Owner mine = owner;
    shard.upgrading.compare_exchange_strong(mine, 0);
    return;
  }
  SpinLockHolder guard(&shard.mutex);
  Lock* lock = shard.Find(id);
  if (lock->upgrading == owner) lock->upgrading = 0;
}

bool LockTable::LockExclusive(ObjectId id, Owner owner, bool upgrade,
                              absl::Duration wait) {
  const Wish wish = {id, owner, /*exclusive=*/true, upgrade};
  if (TryTake(wish)) return true;
  if (wait <= absl::ZeroDuration()) return false;
  const auto take = [&] { return TryTake(wish); };
  if (!upgrade) return Acquire(id, wait, take);
  if (!BeginUpgrade(id, owner)) return false;
  const bool taken = Acquire(id, wait, take);
  EndUpgrade(id, owner);  // regardless of the holder, the lock exists
  return taken;
}

// --- Giving back.

void LockTable::DropShare(Shard& shard) {
  uint64_t word = shard.word.load(std::memory_order_relaxed);
  uint64_t left;
  do {
    CHECK_NE(word & kSharesMask, 0u);
    left = word - kOneShare;
    if ((left & ~kIdMask) == 0) left = 0;  // no sharers are left
  } while (!shard.word.compare_exchange_weak(word, left));
}

void LockTable::UnlockShared(ObjectId id) {
  Shard& shard = ShardOf(id);
  const uint64_t word = shard.word.load(std::memory_order_relaxed);
  if ((word & kIdMask) == id && Fits(id)) {
    DropShare(shard);
  } else {
    SpinLockHolder guard(&shard.mutex);
    Lock* lock = shard.Find(id);
    CHECK(lock != nullptr && lock->shared > 0);
    --lock->shared;
    shard.Tidy(lock);
  }
  if (shard.waiters.load() > 0) WakeWaiters();
}

bool LockTable::UnlockExclusive(ObjectId id, Owner owner) {
  Shard& shard = ShardOf(id);
  const uint64_t word = shard.word.load(std::memory_order_relaxed);
  if ((word & kIdMask) == id && Fits(id)) {
    if ((word & kExclusive) == 0 ||
        shard.owner.load(std::memory_order_relaxed) != owner) {
      return false;
    }
    shard.owner.store(0, std::memory_order_relaxed);
    const uint64_t shares = word & kSharesMask;
    shard.word.store(shares == 0 ? 0 : shares | id, std::memory_order_release);
  } else {
    if (shard.listed.load() == 0) return false;
    SpinLockHolder guard(&shard.mutex);
    Lock* lock = shard.Find(id);
    if (lock == nullptr || lock->exclusive != owner) return false;
    lock->exclusive = 0;
    shard.Tidy(lock);
  }
  if (shard.waiters.load(std::memory_order_relaxed) > 0) WakeWaiters();
  return true;
}

// --- The rest.

void LockTable::Seize(ObjectId id, Owner owner) {
  Shard& shard = ShardOf(id);
  CHECK(Fits(id)) << id;
  const uint64_t word = shard.word.load();
  if (word == 0 || (word & kIdMask) == id) {
    CHECK_EQ(word & kSharesMask, 0u);
    SpinLockHolder guard(&shard.mutex);
    if (shard.Find(id) == nullptr) {
      shard.word.store(id | kExclusive);
      shard.owner.store(owner);
      return;
    }
  }
  SpinLockHolder guard(&shard.mutex);
  Lock* lock = shard.Find(id);
  if (lock == nullptr) {
    shard.listed.store(static_cast<uint32_t>(shard.others.size()) + 1);
    shard.others.push_back({id, 0, 0, 0});
    lock = &shard.others.back();
  }
  CHECK_EQ(lock->shared, 0u);
  lock->exclusive = owner;
}

LockTable::Owner LockTable::Holder(ObjectId id) const {
  Shard& shard = ShardOf(id);
  const uint64_t word = shard.word.load();
  if ((word & kIdMask) == id && Fits(id)) {
    return (word & kExclusive) != 0 ? shard.owner.load() : 0;
  }
  if (shard.listed.load() == 0) return 0;
  SpinLockHolder guard(&shard.mutex);
  const Lock* lock = shard.Find(id);
  return lock == nullptr ? 0 : lock->exclusive;
}

bool LockTable::AnyExclusive(ObjectId id) const {
  const uint64_t word = ShardOf(id).word.load();
  if ((word & kIdMask) == id && Fits(id)) return (word & kExclusive) != 0;
  return Holder(id) != 0;
}

size_t LockTable::exclusive() const {
  size_t count = 0;
  for (size_t i = 0; i < kShards; ++i) {
    Shard& shard = shards_[i];
    count += (shard.word.load() & kExclusive) != 0;
    if (shard.listed.load() == 0) continue;
    SpinLockHolder guard(&shard.mutex);
    for (const Lock& lock : shard.others) count += lock.exclusive != 0;
  }
  return count;
}

}  // namespace kamino::engine
