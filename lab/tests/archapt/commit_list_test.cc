#include "lab/archapt/commit_list.h"

#include <utility>

#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

constexpr uint32_t kBytes = 240;  // four lines
constexpr ObjectId kA = 64, kB = 640;

class CommitListTest : public ::testing::Test {
 protected:
  uint64_t Append(LogicalCommit commit) {
    return list_.Append(std::move(commit), &pending_);
  }
  // That changes one object.
  uint64_t AppendChange(ObjectId id) {
    LogicalCommit commit;
    commit.objects.push_back({{id, kBytes}, {{0, 4}}});
    return Append(std::move(commit));
  }

  PendingTable pending_{1024};
  CommitList list_{/*last=*/5, /*given=*/9};
};

TEST_F(CommitListTest, SequencesContinueAfterTheGivenOnes) {
  EXPECT_EQ(list_.last(), 5u);
  EXPECT_EQ(list_.middle(), 0u);
  for (uint64_t sequence = 10; sequence < 15; ++sequence) {
    EXPECT_EQ(AppendChange(64 * sequence), sequence);
    EXPECT_EQ(list_.last(), sequence);
    EXPECT_EQ(list_.At(sequence)->sequence, sequence);
  }
  EXPECT_EQ(list_.first(), 10u);
  EXPECT_EQ(list_.middle(), 12u);
}

TEST_F(CommitListTest, AnObjectWithoutLinesIsNotPending) {
  LogicalCommit logical;
  logical.objects.push_back({{kA, kBytes}, {{1, 2}}});
  logical.objects.push_back({{kB, kBytes}, {}});
  const PendingCommit* const commit = list_.At(Append(std::move(logical)));
  EXPECT_EQ(pending_.Find(kA)->pending, commit);
  EXPECT_EQ(pending_.Find(kB), nullptr);
  // The object, and the headers.
  EXPECT_EQ(commit->outstanding.load(), 2u);
}

TEST_F(CommitListTest, CommitsLeaveInOrder) {
  PendingCommit* const one = list_.At(AppendChange(kA));
  PendingCommit* const two = list_.At(AppendChange(kB));
  PendingCommits ready;
  two->FlushDone();
  two->FlushDone();
  EXPECT_FALSE(list_.HasReady());
  EXPECT_FALSE(list_.TakeReady(8, &ready));
  EXPECT_TRUE(ready.empty());
  one->FlushDone();
  EXPECT_FALSE(list_.HasReady());
  one->FlushDone();
  EXPECT_TRUE(list_.HasReady());
  EXPECT_TRUE(list_.TakeReady(1, &ready));
  EXPECT_FALSE(list_.TakeReady(8, &ready));
  ASSERT_EQ(ready.size(), 2u);
  EXPECT_EQ(ready[0].get(), one);
  EXPECT_EQ(ready[1].get(), two);
  EXPECT_TRUE(list_.empty());
  EXPECT_EQ(list_.last(), 11u);
}

TEST_F(CommitListTest, FreedBlocksWaitForThePhysicalCommit) {
  LogicalCommit logical;
  logical.headers = {kA, kB};
  logical.freed = {kA, kB};
  list_.At(Append(std::move(logical)))->FlushDone();
  PendingCommits ready;
  list_.TakeReady(8, &ready);
  EXPECT_EQ(list_.freed_blocks(), 2u);
  list_.Recycle(std::move(ready));
  EXPECT_EQ(list_.freed_blocks(), 0u);
  // A commit that is used again frees nothing by itself.
  AppendChange(kA);
  EXPECT_EQ(list_.freed_blocks(), 0u);
}

}  // namespace
}  // namespace kamino::engine
