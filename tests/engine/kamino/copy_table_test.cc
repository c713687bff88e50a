#include "engine/kamino/copy_table.h"

#include <atomic>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

using Copy = CopyTable::Copy;

constexpr uint64_t kUnits = 4;  // of each copy

ObjectId IdOf(uint64_t number) { return (number + 1) * 64; }

CopyTable::Place PlaceOf(ObjectId id) { return {id * 2, kUnits}; }

std::vector<ObjectId> IdsOf(const std::vector<Copy*>& copies) {
  std::vector<ObjectId> ids;
  for (const Copy* copy : copies) ids.push_back(copy->id());
  return ids;
}

class CopyTableTest : public ::testing::Test {
 protected:
  void Insert(uint64_t count, bool pinned) {
    for (uint64_t i = 0; i < count; ++i) {
      table_.Insert(IdOf(i), PlaceOf(IdOf(i)), pinned);
    }
  }

  // Has a front of a few sets.
  CopyTable table_{1000};
};

TEST_F(CopyTableTest, ACopyIsPinnedUntilItsLastUnpin) {
  Insert(1, /*pinned=*/true);
  EXPECT_EQ(table_.TryPin(IdOf(0))->place().block, PlaceOf(IdOf(0)).block);
  EXPECT_TRUE(table_.TryUnpin(IdOf(0)));
  EXPECT_TRUE(table_.MarkVictims(1).empty());
  EXPECT_TRUE(table_.TryUnpin(IdOf(0)));
  EXPECT_EQ(IdsOf(table_.MarkVictims(1)), std::vector<ObjectId>{IdOf(0)});
}

TEST_F(CopyTableTest, VictimsAreThoseNotUsedSinceTheHandPassed) {
  Insert(4, /*pinned=*/false);
  table_.TryPin(IdOf(0));
  table_.TryUnpin(IdOf(0));
  table_.TryPin(IdOf(2));
  EXPECT_EQ(IdsOf(table_.MarkVictims(1)), std::vector<ObjectId>{IdOf(1)});
  EXPECT_EQ(IdsOf(table_.MarkVictims(kUnits + 1)),
            (std::vector<ObjectId>{IdOf(3), IdOf(0)}));
  EXPECT_TRUE(table_.MarkVictims(1).empty());
}

TEST_F(CopyTableTest, AnEvictedCopyIsFoundButNotPinned) {
  Insert(1, /*pinned=*/false);
  ASSERT_EQ(table_.MarkVictims(1).size(), 1u);
  EXPECT_EQ(table_.TryPin(IdOf(0)), nullptr);
  Copy* const copy = table_.Find(IdOf(0));
  ASSERT_NE(copy, nullptr);
  EXPECT_TRUE(copy->evicted());
  table_.Erase(copy);
  EXPECT_EQ(table_.Find(IdOf(0)), nullptr);
  EXPECT_EQ(table_.TryPin(IdOf(0)), nullptr);
}

TEST_F(CopyTableTest, ADroppedCopyIsNeitherPinnedNorEvicted) {
  Insert(1, /*pinned=*/false);
  table_.Find(IdOf(0))->Drop();
  EXPECT_EQ(table_.TryPin(IdOf(0)), nullptr);
  EXPECT_FALSE(table_.TryUnpin(IdOf(0)));
  EXPECT_TRUE(table_.MarkVictims(1).empty());
}

TEST_F(CopyTableTest, MemoryOfAnErasedCopyIsUsedForAnother) {
  Insert(1, /*pinned=*/false);
  Copy* const copy = table_.Find(IdOf(0));
  table_.Erase(copy);
  EXPECT_EQ(table_.Insert(IdOf(1), PlaceOf(IdOf(1)), /*pinned=*/false), copy);
  EXPECT_EQ(table_.TryPin(IdOf(0)), nullptr);
  EXPECT_FALSE(copy->PinAs(IdOf(0)));
  EXPECT_EQ(table_.TryPin(IdOf(1)), copy);
}

TEST_F(CopyTableTest, CopiesThatTheFrontDisplacesAreFound) {
  constexpr uint64_t kCount = 1000;
  Insert(kCount, /*pinned=*/false);
  int displaced = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    Copy* copy = table_.TryPin(IdOf(i));
    if (copy == nullptr) {
      ++displaced;
      ASSERT_NE(table_.Find(IdOf(i)), nullptr);
      copy = table_.TryPin(IdOf(i));  // Find has put it into the front
    }
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(copy->place().block, PlaceOf(IdOf(i)).block);
    EXPECT_TRUE(table_.TryUnpin(IdOf(i)));
  }
  EXPECT_GT(displaced, 0);
}

// Threads pin copies of their own objects while all copies come and go.
TEST_F(CopyTableTest, AThreadPinsOnlyTheCopyOfItsObject) {
  constexpr uint64_t kThreads = 3;
  constexpr uint64_t kObjects = 24;  // more than there is room for
  constexpr size_t kRoom = 16;
  constexpr int kRounds = 30'000;
  absl::Mutex mutex;
  size_t copies = 0;
  const auto make_room = [&] {
    mutex.AssertHeld();
    for (Copy* victim : table_.MarkVictims(kUnits)) {
      table_.Erase(victim);
      --copies;
    }
  };
  const auto ensure = [&](ObjectId id) {
    Copy* copy = table_.TryPin(id);
    if (copy != nullptr) return copy;
    absl::MutexLock lock(&mutex);
    copy = table_.Find(id);
    if (copy != nullptr) {
      copy->Pin();
      return copy;
    }
    while (copies >= kRoom) make_room();
    ++copies;
    return table_.Insert(id, PlaceOf(id), /*pinned=*/true);
  };
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kRounds; ++i) {
        const ObjectId id = IdOf((i * 7 % kObjects) * kThreads + thread);
        Copy* const copy = ensure(id);
        if (copy->id() != id || copy->place().block != PlaceOf(id).block ||
            copy->evicted()) {
          ++wrong;
        }
        if (table_.TryUnpin(id)) continue;
        absl::MutexLock lock(&mutex);
        table_.Find(id)->Unpin();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace kamino::engine
