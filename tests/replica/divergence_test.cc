#include "replica/integrity/divergence.h"

#include <optional>

#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "tests/replica/text_entry.h"

namespace kamino::replica {
namespace {

using Judgement = Divergence::Judgement;

constexpr uint64_t kHead = 11;
constexpr uint64_t kOwn = 12;

Judgement JudgeOf(size_t before, bool successor, std::optional<uint64_t> vote,
                  uint64_t own = kOwn, bool one_origin = false) {
  return Divergence::Judge({.before = before,
                            .head = kHead,
                            .own = own,
                            .successor = successor,
                            .vote = vote,
                            .one_origin = one_origin});
}

Judgement JudgeOfCopy(size_t before, uint64_t vote, uint64_t own = kOwn) {
  return JudgeOf(before, /*successor=*/true, vote, own, /*one_origin=*/true);
}

TEST(DivergenceTest, OneOfThreeErred) {
  EXPECT_EQ(JudgeOf(1, true, std::nullopt), Judgement::kAsk);
  EXPECT_EQ(JudgeOf(1, true, kHead), Judgement::kThisNodeErred);
  EXPECT_EQ(JudgeOf(1, true, kOwn), Judgement::kHeadErred);
  EXPECT_EQ(JudgeOf(1, true, 13), Judgement::kUndecided);
  // Neither node could execute it.
  EXPECT_EQ(JudgeOf(1, true, 0, /*own=*/0), Judgement::kHeadErred);
  EXPECT_EQ(JudgeOf(1, true, 0), Judgement::kUndecided);
}

TEST(DivergenceTest, TwoNodesAreUndecided) {
  EXPECT_EQ(JudgeOf(1, false, std::nullopt), Judgement::kUndecided);
}

TEST(DivergenceTest, TwoAgreeingNodesOutvoteThisNode) {
  for (size_t before : {2, 3}) {
    EXPECT_EQ(JudgeOf(before, false, std::nullopt), Judgement::kThisNodeErred);
    EXPECT_EQ(JudgeOf(before, true, std::nullopt), Judgement::kAsk);
    EXPECT_EQ(JudgeOf(before, true, kHead), Judgement::kThisNodeErred);
    // Two against two.
    EXPECT_EQ(JudgeOf(before, true, kOwn), Judgement::kUndecided);
    EXPECT_EQ(JudgeOf(before, true, 13), Judgement::kUndecided);
  }
}

TEST(DivergenceTest, CopiesOfOneOriginCountOnce) {
  EXPECT_EQ(JudgeOfCopy(1, kOwn), Judgement::kUndecided);
  EXPECT_EQ(JudgeOfCopy(1, 0, /*own=*/0), Judgement::kUndecided);
  EXPECT_EQ(JudgeOfCopy(2, kOwn), Judgement::kThisNodeErred);
  // They differ: bits of one copy have changed since.
  EXPECT_EQ(JudgeOfCopy(1, kHead), Judgement::kThisNodeErred);
  EXPECT_EQ(JudgeOfCopy(1, 13), Judgement::kUndecided);
  EXPECT_EQ(JudgeOfCopy(2, 13), Judgement::kUndecided);
}

class RecordedDivergenceTest : public ::testing::Test {
 protected:
  RecordedDivergenceTest() : region_(64u << 10), record_(&region_) {
    record_.Create({.incarnation = 7, .view_id = 3});
  }
  NodeState Reread() {
    NodeRecord read(&region_);
    EXPECT_TRUE(read.Open().ok());
    return read.state();
  }

  engine::SimRegion region_;
  NodeRecord record_;
  const std::string text_ = TextEntry(5, "a=1", /*count=*/2);
  const LogEntry entry_ = *LogEntry::Check(text_);
};

TEST_F(RecordedDivergenceTest, IsRememberedUntilItIsOver) {
  Divergence divergence(&record_, absl::Milliseconds(50));
  EXPECT_FALSE(divergence.open());
  divergence.Begin(entry_, absl::OkStatus(), kOwn);
  EXPECT_TRUE(divergence.open());
  EXPECT_EQ(divergence.first(), 5u);
  EXPECT_EQ(divergence.last(), 6u);
  EXPECT_EQ(Reread().disputed, 5u);
  EXPECT_TRUE(Reread().disputed_whole);
  EXPECT_EQ(Reread().incarnation, 7u);
  divergence.End();
  EXPECT_FALSE(divergence.open());
  EXPECT_EQ(Reread().disputed, 0u);
  divergence.Begin(entry_, absl::DataLossError("diverged"), 0);
  EXPECT_EQ(Reread().disputed, 5u);
  EXPECT_FALSE(Reread().disputed_whole);
}

TEST_F(RecordedDivergenceTest, VotesCountForTheirOperationAndView) {
  Divergence divergence(&record_, absl::Milliseconds(50));
  divergence.Begin(entry_, absl::OkStatus(), kOwn);
  divergence.OnVote(4, kOwn, /*one_origin=*/false);
  EXPECT_EQ(divergence.Judge(1, true), Judgement::kAsk);
  divergence.OnVote(5, kOwn, /*one_origin=*/false);
  EXPECT_EQ(divergence.Judge(1, true), Judgement::kHeadErred);
  divergence.ForgetVotes();
  EXPECT_EQ(divergence.Judge(1, true), Judgement::kAsk);
  divergence.OnVote(5, kOwn, /*one_origin=*/true);
  EXPECT_EQ(divergence.Judge(1, true), Judgement::kUndecided);
}

TEST_F(RecordedDivergenceTest, AsksAtIntervals) {
  Divergence divergence(&record_, absl::Milliseconds(50));
  divergence.Begin(entry_, absl::OkStatus(), kOwn);
  const absl::Time now = absl::UnixEpoch();
  EXPECT_TRUE(divergence.MaySpeak(now));
  EXPECT_FALSE(divergence.MaySpeak(now + absl::Milliseconds(49)));
  EXPECT_TRUE(divergence.MaySpeak(now + absl::Milliseconds(50)));
}

}  // namespace
}  // namespace kamino::replica
