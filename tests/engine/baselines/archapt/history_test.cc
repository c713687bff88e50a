// What Archapt believes of the cache.
#include "engine/baselines/archapt/history.h"

#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

constexpr uint32_t kBytes = 240;  // four lines
constexpr ObjectId kA = 64, kB = 640, kC = 6400;

TEST(LineRangesTest, AreMergedAndCounted) {
  const LineRanges merged = MergeRanges({{5, 7}, {0, 2}, {1, 3}, {7, 8}});
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].first, 0u);
  EXPECT_EQ(merged[0].end, 3u);
  EXPECT_EQ(merged[1].first, 5u);
  EXPECT_EQ(merged[1].end, 8u);
  EXPECT_EQ(CountLines(merged), 6u);
  EXPECT_EQ(CountLines({}), 0u);
}

TEST(HistoryTest, TheOneAccessedLongestAgoFallsOut) {
  History history(2 * 256);
  history.Touch(kA, kBytes);
  history.Touch(kB, kBytes);
  EXPECT_EQ(history.TakeOverflow(), nullptr);
  EXPECT_EQ(history.queued_bytes(), 512u);
  history.Touch(kA, kBytes);
  history.Touch(kC, kBytes);
  ObjectEntry* const out = history.TakeOverflow();
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(out->id, kB);
  EXPECT_EQ(history.TakeOverflow(), nullptr);
  history.Tidy(out);
  EXPECT_EQ(history.Find(kB), nullptr);
}

TEST(HistoryTest, WhatIsPendingIsMarkedUntilItIsTaken) {
  History history(1024);
  PendingCommit commit;
  EXPECT_FALSE(history.MayBeMarked(kA));
  history.SetPending(kA, kBytes, &commit, {{1, 3}});
  EXPECT_TRUE(history.MayBeMarked(kA));
  EXPECT_EQ(history.Find(kA)->pending, &commit);
  LineRanges lines;
  history.TakePending(history.Find(kA), &lines);
  EXPECT_EQ(CountLines(lines), 2u);
  EXPECT_FALSE(history.MayBeMarked(kA));
  EXPECT_TRUE(history.Find(kA)->queued);
  history.Forget(kA);
  EXPECT_EQ(history.Find(kA), nullptr);
  EXPECT_EQ(history.queued_bytes(), 0u);
}

// An access that is told of late may have been of another object of that id.
TEST(HistoryTest, ALateAccessDoesNotChangeASize) {
  History history(1024);
  PendingCommit commit;
  history.SetPending(kA, kBytes, &commit, {{0, 4}});
  history.Touch(kA, 48);
  EXPECT_EQ(history.Find(kA)->bytes, kBytes);
  EXPECT_EQ(history.queued_bytes(), 256u);
}

TEST(HistoryTest, ThoseOfSimilarSizeWaitForEachOther) {
  History history(0);
  PendingCommit commit;
  const auto wait = [&](ObjectId id, uint32_t bytes) {
    history.SetPending(id, bytes, &commit, {{0, 1}});
    ObjectEntry* const entry = history.TakeOverflow();
    ASSERT_EQ(entry->id, id);
    history.Wait(entry);
  };
  wait(kA, kBytes);
  wait(kB, 5000);
  EXPECT_TRUE(history.TakeWaiting(2).empty());
  wait(kC, kBytes - 64);
  const auto taken = history.TakeWaiting(2);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0]->id, kA);
  EXPECT_EQ(taken[1]->id, kC);
  EXPECT_EQ(taken[0]->state, MatrixState::kSealing);
  EXPECT_TRUE(history.TakeWaiting(1)[0]->id == kB);
}

TEST(HistoryTest, WhoIsTakenDoesNotWait) {
  History history(0);
  PendingCommit commit;
  history.SetPending(kA, kBytes, &commit, {{0, 1}});
  ObjectEntry* const entry = history.TakeOverflow();
  history.Wait(entry);
  LineRanges lines;
  history.TakePending(entry, &lines);
  EXPECT_TRUE(history.TakeWaiting(1).empty());
  history.Tidy(entry);
  EXPECT_EQ(history.Find(kA), nullptr);
}

}  // namespace
}  // namespace kamino::engine
