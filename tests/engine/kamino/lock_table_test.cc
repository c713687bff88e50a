#include "engine/kamino/lock_table.h"

#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/patience.h"

namespace kamino::engine {
namespace {

constexpr absl::Duration kNoWait = absl::ZeroDuration();
const absl::Duration kLong = Patience(absl::Seconds(30));

TEST(LockTableTest, LocksAreSharedByManyOrExclusiveToOne) {
  LockTable locks;
  EXPECT_TRUE(locks.LockShared(64, 1, kNoWait));
  EXPECT_TRUE(locks.LockShared(64, 2, kNoWait));
  EXPECT_FALSE(locks.LockExclusive(64, 3, false, kNoWait));
  EXPECT_FALSE(locks.LockExclusive(64, 1, true, kNoWait));  // 2 reads as well
  locks.UnlockShared(64);
  EXPECT_TRUE(locks.LockExclusive(64, 1, true, kNoWait));
  EXPECT_TRUE(locks.LockExclusive(64, 1, false, kNoWait));  // again
  EXPECT_FALSE(locks.LockShared(64, 2, kNoWait));
  EXPECT_FALSE(locks.LockExclusive(64, 2, false, kNoWait));
  EXPECT_TRUE(locks.AnyExclusive(64));
  EXPECT_TRUE(locks.HeldExclusive(64, 1));
  EXPECT_EQ(locks.exclusive(), 1u);
  EXPECT_FALSE(locks.UnlockExclusive(64, 2));
  EXPECT_TRUE(locks.UnlockExclusive(64, 1));
  EXPECT_FALSE(locks.UnlockExclusive(64, 1));
  EXPECT_EQ(locks.exclusive(), 0u);
}

TEST(LockTableTest, SeizeTakesOverALock) {
  LockTable locks;
  locks.Seize(64, 1);
  locks.Seize(64, 2);
  EXPECT_EQ(locks.exclusive(), 1u);
  EXPECT_FALSE(locks.UnlockExclusive(64, 1));
  EXPECT_TRUE(locks.UnlockExclusive(64, 2));
}

// More objects than shards: each has a lock of its own nevertheless.
TEST(LockTableTest, ObjectsThatShareAShardDoNotShareALock) {
  LockTable locks;
  constexpr ObjectId kEnd = 64 * 20000;
  for (ObjectId id = 64; id < kEnd; id += 64) {
    ASSERT_TRUE(locks.LockExclusive(id, id, false, kNoWait));
  }
  EXPECT_EQ(locks.exclusive(), kEnd / 64 - 1);
  for (ObjectId id = 64; id < kEnd; id += 128) {
    ASSERT_TRUE(locks.UnlockExclusive(id, id));
  }
  for (ObjectId id = 64; id < kEnd; id += 64) {
    ASSERT_EQ(locks.HeldExclusive(id, id), id % 128 == 0) << id;
  }
}

TEST(LockTableTest, AWaitEndsOnUnlockOrTimeout) {
  LockTable locks;
  ASSERT_TRUE(locks.LockExclusive(64, 1, false, kNoWait));
  EXPECT_FALSE(locks.LockShared(64, 2, absl::Milliseconds(1)));
  absl::Notification begun;
  std::thread waiter([&] {
    begun.Notify();
    EXPECT_TRUE(locks.LockExclusive(64, 2, false, kLong));
  });
  begun.WaitForNotification();
  EXPECT_TRUE(locks.UnlockExclusive(64, 1));
  waiter.join();
  EXPECT_TRUE(locks.HeldExclusive(64, 2));
}

// Each would wait for the other's shared lock.
TEST(LockTableTest, OneOfTwoUpgradesFailsAtOnce) {
  LockTable locks;
  ASSERT_TRUE(locks.LockShared(64, 1, kNoWait));
  ASSERT_TRUE(locks.LockShared(64, 2, kNoWait));
  bool upgraded[2];
  std::vector<std::thread> threads;
  for (LockTable::Owner owner : {1, 2}) {
    threads.emplace_back([&locks, &upgraded, owner] {
      upgraded[owner - 1] = locks.LockExclusive(64, owner, true, kLong);
      if (!upgraded[owner - 1]) locks.UnlockShared(64);  // as an abort does
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(upgraded[0], upgraded[1]);
}

TEST(LockTableTest, ThreadsExcludeEachOther) {
  LockTable locks;
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  int count = 0;  // guarded by the lock of object 64
  std::vector<std::thread> threads;
  for (int t = 1; t <= kThreads; ++t) {
    threads.emplace_back([&locks, &count, t] {
      for (int i = 0; i < kRounds; ++i) {
        ASSERT_TRUE(locks.LockExclusive(64, t, false, kLong));
        ++count;
        ASSERT_TRUE(locks.UnlockExclusive(64, t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kRounds);
}

// Locks that come and go beside others of their shard, in its word and in its
// list.
TEST(LockTableTest, ThreadsExcludeEachOtherInFullShards) {
  LockTable locks;
  constexpr int kThreads = 3;
  constexpr int kRounds = 20'000;
  constexpr ObjectId kObjects = 6000;  // more than there are shards
  std::vector<int> counts(kObjects);   // each guarded by its object's lock
  std::vector<int> taken(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      constexpr size_t kHeld = 2000;
      std::vector<ObjectId> held;  // in the order they were locked
      uint64_t random = t + 1;
      for (int i = 0; i < kRounds; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const ObjectId at = (random >> 33) % kObjects;
        const ObjectId id = 64 * (at + 1);
        if (locks.HeldExclusive(id, t + 1)) continue;
        if (i % 4 == 0) {
          if (!locks.LockShared(id, t + 1, kNoWait)) continue;
          EXPECT_EQ(counts[at] % 2, 0);
          locks.UnlockShared(id);
          continue;
        }
        if (!locks.LockExclusive(id, t + 1, false, kNoWait)) continue;
        ++counts[at];  // odd while it is held
        ++taken[t];
        held.push_back(id);
        if (held.size() < kHeld) continue;
        for (size_t k = 0; k < kHeld / 2; ++k) {
          ++counts[held[k] / 64 - 1];
          ASSERT_TRUE(locks.UnlockExclusive(held[k], t + 1));
        }
        held.erase(held.begin(), held.begin() + kHeld / 2);
      }
      for (ObjectId id : held) {
        ++counts[id / 64 - 1];
        ASSERT_TRUE(locks.UnlockExclusive(id, t + 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  int sum = 0, expected = 0;
  for (int count : counts) sum += count;
  for (int count : taken) expected += 2 * count;
  EXPECT_EQ(sum, expected);
  EXPECT_GT(expected, 0);
  EXPECT_EQ(locks.exclusive(), 0u);
}

}  // namespace
}  // namespace kamino::engine
