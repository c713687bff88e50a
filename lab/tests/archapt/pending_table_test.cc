// The flushes that Archapt has deferred.
#include "lab/archapt/pending_table.h"

#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

constexpr uint32_t kBytes = 240;  // four lines
constexpr ObjectId kA = 64, kB = 640, kC = 6400;

TEST(LineRangesTest, RangesAreMergedAndCounted) {
  const LineRanges merged = MergeRanges({{5, 7}, {0, 2}, {1, 3}, {7, 8}});
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].first, 0u);
  EXPECT_EQ(merged[0].end, 3u);
  EXPECT_EQ(merged[1].first, 5u);
  EXPECT_EQ(merged[1].end, 8u);
  EXPECT_EQ(CountLines(merged), 6u);
  EXPECT_EQ(CountLines({}), 0u);
}

// Compared line by line, for every range of eight lines.
TEST(LineRangesTest, RangesAreSplit) {
  const LineRanges lines = {{0, 2}, {3, 5}, {6, 8}};
  for (uint32_t first = 0; first <= 8; ++first) {
    for (uint32_t end = first; end <= 8; ++end) {
      const SplitLines split = Split(lines, {first, end});
      for (uint32_t line = 0; line < 8; ++line) {
        const auto has = [line](const LineRanges& ranges) {
          int times = 0;
          for (const LineRange& range : ranges) {
            times += range.first <= line && line < range.end;
          }
          return times;
        };
        const bool within = first <= line && line < end;
        EXPECT_EQ(has(split.within), within ? has(lines) : 0);
        EXPECT_EQ(has(split.rest), within ? 0 : has(lines));
      }
    }
  }
}

TEST(PendingTableTest, PendingEntriesAreFoundUntilTheyAreTaken) {
  PendingTable table(1024);
  PendingCommit commit;
  EXPECT_FALSE(table.MayHave(kA));
  table.SetPending({kA, kBytes}, &commit, {{1, 3}});
  EXPECT_TRUE(table.MayHave(kA));
  EXPECT_EQ(table.Find(kA)->pending, &commit);
  EXPECT_EQ(CountLines(table.TakePending(table.Find(kA))), 2u);
  EXPECT_FALSE(table.MayHave(kA));
  EXPECT_EQ(table.Find(kA), nullptr);
}

TEST(PendingTableTest, SealedEntriesAreFoundAndNotPending) {
  PendingTable table(1024);
  PendingCommit commit;
  table.SetPending({kA, kBytes}, &commit, {{0, 4}});
  table.Wait(table.Find(kA), 0);
  ObjectEntry* const entry = table.TakeWaiting(1)[0];
  table.Seal(entry);
  EXPECT_EQ(entry->pending, nullptr);
  EXPECT_EQ(CountLines(entry->lines), 4u);
  EXPECT_TRUE(table.MayHave(kA));
  table.Unseal(entry);
  EXPECT_FALSE(table.MayHave(kA));
  EXPECT_EQ(table.Find(kA), nullptr);
}

// More than there are buckets.
TEST(PendingTableTest, ObjectsInOneBucketAreDistinguished) {
  PendingTable table(1024);
  PendingCommit commit;
  constexpr ObjectId kMany = 10000;
  for (ObjectId i = 1; i <= kMany; ++i) {
    table.SetPending({i * 64, kBytes}, &commit, {{0, 1}});
  }
  for (ObjectId i = 1; i <= kMany; i += 2) {
    ASSERT_EQ(table.Find(i * 64)->id, i * 64);
    table.TakePending(table.Find(i * 64));
  }
  for (ObjectId i = 1; i <= kMany; ++i) {
    EXPECT_EQ(table.Find(i * 64) != nullptr, i % 2 == 0) << i;
  }
}

TEST(PendingTableTest, ObjectsOfSimilarSizeWaitTogether) {
  PendingTable table(1024);
  PendingCommit commit;
  const auto wait = [&](ObjectId id, uint32_t bytes) {
    table.SetPending({id, bytes}, &commit, {{0, 1}});
    table.Wait(table.Find(id), 0);
  };
  wait(kA, kBytes);
  wait(kB, 5000);
  EXPECT_TRUE(table.TakeWaiting(2).empty());
  wait(kC, kBytes - 64);
  const auto taken = table.TakeWaiting(2);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0]->id, kA);
  EXPECT_EQ(taken[1]->id, kC);
  EXPECT_EQ(taken[0]->state, MatrixState::kSealing);
  EXPECT_TRUE(table.TakeWaiting(1)[0]->id == kB);
}

TEST(PendingTableTest, LongWaitingEntriesAreFound) {
  PendingTable table(1024);
  PendingCommit commit;
  uint64_t now = 5;
  for (const Access& one : {Access{kA, kBytes}, {kB, 5000}, {kC, kBytes}}) {
    table.SetPending(one, &commit, {{0, 1}});
    table.Wait(table.Find(one.id), now++);
  }
  EXPECT_EQ(table.WaitsSince(4), nullptr);
  EXPECT_EQ(table.WaitsSince(5)->id, kA);
  table.TakePending(table.Find(kA));
  EXPECT_EQ(table.WaitsSince(5), nullptr);
  EXPECT_EQ(table.WaitsSince(6)->id, kB);
  table.TakePending(table.Find(kB));
  EXPECT_EQ(table.WaitsSince(7)->id, kC);
}

TEST(PendingTableTest, ATakenEntryDoesNotWait) {
  PendingTable table(1024);
  PendingCommit commit;
  table.SetPending({kA, kBytes}, &commit, {{0, 1}});
  table.Wait(table.Find(kA), 0);
  table.TakePending(table.Find(kA));
  EXPECT_TRUE(table.TakeWaiting(1).empty());
  EXPECT_EQ(table.Find(kA), nullptr);
}

}  // namespace
}  // namespace kamino::engine
