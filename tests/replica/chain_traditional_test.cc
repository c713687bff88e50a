// A node's core where nodes roll back what they were executing, and execute it
// again: when an execution has ended the process before.
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/replica/restarted_core.h"

namespace kamino::replica {
namespace {

using membership::Condition;

// Mutation 2 is rolled back; executing it again has ended the process once.
class ChainTraditionalTest : public ::testing::Test {
 protected:
  ChainTraditionalTest() : node_(ChainMode::kTraditional) {
    node_.Append("a=1");
    node_.Append("a=2");
    node_.Apply(1);
    node_.heap_.ExecutePart("a=1", 1);
    node_.state_.redone = 2;
    node_.Start();
  }

  // Executes mutation 2 as a replica, and becomes head with another one in its
  // ring.
  void FollowThenLead() {
    node_.Install({"n1", "n2"});
    EXPECT_EQ(node_.ring_->applied(), 2u);
    node_.Append("c=3");
    node_.Install({"n2"});
    EXPECT_TRUE(node_.fatal_.ok()) << node_.fatal_;
  }

  Restarted node_;
};

TEST_F(ChainTraditionalTest, ANodeIsWholeBeforeItHearsFromPeers) {
  EXPECT_EQ(node_.core_->soundness().condition(), Condition::kReturned);
  EXPECT_TRUE(node_.core_->soundness().heap_whole());
  EXPECT_EQ(node_.heap_.Text(), "a=1");
}

TEST_F(ChainTraditionalTest, AHeadDropsTheEntryThatCrashedIt) {
  node_.Install({"n2"});
  EXPECT_TRUE(node_.fatal_.ok()) << node_.fatal_;
  EXPECT_EQ(node_.ring_->received(), 1u);
  EXPECT_EQ(node_.heap_.Text(), "a=1");
  EXPECT_EQ(node_.fetches_, 0);
}

TEST_F(ChainTraditionalTest, AHeadKeepsEntriesThatItExecutedSince) {
  FollowThenLead();
  EXPECT_EQ(node_.ring_->applied(), 3u);
  EXPECT_EQ(node_.heap_.Text(), "a=2 c=3");
}

TEST_F(ChainTraditionalTest, NoticesAHeadThatDropsAllReceivedEntries) {
  faults::Planted planted("chain-drops-entries-that-did-not-crash-it");
  FollowThenLead();
  EXPECT_EQ(node_.ring_->received(), 2u);
}

}  // namespace
}  // namespace kamino::replica
