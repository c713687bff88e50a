// A node's core in a chain whose entries carry after-images: its start, and
// when it rolls back a divergent entry.
#include <string>

#include "gtest/gtest.h"
#include "replica/core/chain_core.h"
#include "tests/faults/planted.h"
#include "tests/replica/restarted_core.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::ChainMessage;
using membership::Condition;

TEST(ChainImagesTest, ANodeIsWholeBeforeItHearsFromPeers) {
  Restarted node(ChainMode::kImages);
  for (const char* text : {"a=1 b=1", "a=2 c=2", "c=3 d=3"}) node.Append(text);
  node.Apply(1);
  node.heap_.ExecutePart("a=1 b=1", 2);
  node.heap_.ExecutePart("a=2 c=2", 1);
  node.Start();
  EXPECT_EQ(node.heap_.Text(), "a=2 b=1 c=3 d=3");
  EXPECT_EQ(node.ring_->applied(), 3u);
  EXPECT_EQ(node.core_->soundness().condition(), Condition::kReturned);
  EXPECT_TRUE(node.core_->soundness().heap_whole());
  // Also alone.
  node.Install({"n2"});
  EXPECT_TRUE(node.fatal_.ok()) << node.fatal_;
  EXPECT_TRUE(node.core_->soundness().ready());
  EXPECT_EQ(node.core_->progress().completed(), 3u);
}

TEST(ChainImagesTest, ANodeInAnotherModeIsTorn) {
  Restarted node(ChainMode::kKamino);
  node.Append("a=1");
  node.Start();
  EXPECT_EQ(node.heap_.Text(), "nothing");
  EXPECT_EQ(node.core_->soundness().condition(), Condition::kTorn);
  node.Install({"n2"});
  EXPECT_EQ(node.fatal_.code(), absl::StatusCode::kUnavailable);
}

TEST(ChainImagesTest, AJoiningNodeResumes) {
  Restarted node(ChainMode::kImages);
  node.state_.condition = Condition::kBehind;
  node.Append("a=1");
  node.Start();
  EXPECT_EQ(node.heap_.Text(), "a=1");
  EXPECT_EQ(node.core_->soundness().condition(), Condition::kBehind);
}

TEST(ChainImagesTest, ACoreThatCannotRollForwardFailsWithItsFirstInput) {
  Restarted node(ChainMode::kImages);
  node.Append("a=1");
  const LogEntry entry = node.ring_->EntryOf(1);
  const_cast<char*>(entry.bytes().data())[entry.bytes().size() - 1] ^= 1;
  node.Start();
  EXPECT_EQ(node.ring_->applied(), 0u);
  node.Tick();
  EXPECT_TRUE(absl::IsDataLoss(node.fatal_)) << node.fatal_;
}

// n2 could not execute mutation 3 to its end and is head now. Mutation 2 has
// changed the same object, and n3 may not have it yet. Returns whether n2
// fetches from n3 only once n3 has mutation 2.
bool RollsBackInTime(ChainMode mode) {
  Restarted node(mode);
  for (const char* text : {"a=1", "a=2", "a=3 b=3"}) node.Append(text);
  node.Apply(2);
  node.ring_->Clean(1);
  node.heap_.ExecutePart("a=3 b=3", 1);
  node.state_.disputed = 3;
  node.state_.disputed_whole = false;
  node.Start();
  EXPECT_EQ(node.core_->soundness().condition(), Condition::kTorn);
  node.Install({"n2", "n3"});
  node.Act([&](Actions* actions) {
    node.core_->OnLinkOpened(node.append_, node.now_, actions);
  });
  ChainMessage sync;
  sync.mutable_sync()->set_received(1);
  sync.mutable_sync()->set_applied(1);
  sync.mutable_sync()->set_cleaned(1);
  node.Hear(node.append_, std::move(sync));
  node.Tick();
  if (node.fetches_ > 0) return false;
  ChainMessage clean_up;
  clean_up.mutable_clean_up()->set_cleaned(2);
  node.Hear(node.append_, std::move(clean_up));
  node.Tick();
  EXPECT_GT(node.fetches_, 0);
  return true;
}

TEST(ChainImagesTest,
     ADivergenceIsRolledBackOnceTheSuccessorHasTheEarlierEntry) {
  EXPECT_TRUE(RollsBackInTime(ChainMode::kImages));
  // Where entries in flight share no object, n3 need not have it.
  EXPECT_FALSE(RollsBackInTime(ChainMode::kKamino));
}

TEST(ChainImagesTest, AnEarlyRollBackIsDetected) {
  faults::Planted planted("chain-rolls-back-at-once");
  EXPECT_FALSE(RollsBackInTime(ChainMode::kImages));
}

}  // namespace
}  // namespace kamino::replica
