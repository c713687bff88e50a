// Messages at odds with what their sender can know, each of which once broke
// the node that got it: it turns them down, and the chain goes on.
#include <functional>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/node/driver/chain_rig.h"
#include "tests/node/driver/snapshot_chunk.h"

namespace kamino::node {
namespace {

using kamino::internal::v1::ChainMessage;

constexpr uint64_t kFar = uint64_t{1} << 40;

class HostilePeerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rig_.StartAll();
    rig_.InstallView({"n1", "n2", "n3"});
    Execute();
  }

  void Execute() {
    const auto issued =
        rig_.Submit(++client_, {Put("key", std::to_string(client_))});
    rig_.Settle();
    EXPECT_TRUE(issued->acknowledged()) << issued->outcome.status;
  }

  void JoinFourth() {
    rig_.Invite("n4");
    rig_.Settle(40);
    ASSERT_TRUE(rig_.node("n4").core().links().joiner.keeps_up());
  }

  void ExpectGoesOnWithFourth() {
    rig_.Settle(40);
    ASSERT_TRUE(rig_.node("n4").core().links().joiner.keeps_up());
    rig_.InstallView({"n1", "n2", "n3", "n4"});
    Execute();
    EXPECT_EQ(rig_.Difference(), "");
  }

  const replica::TurnedDown& turned_down(const std::string& name) {
    return rig_.node(name).core().turned_down();
  }

  ChainRig rig_;
  uint64_t client_ = 0;
};

TEST_F(HostilePeerTest, CleansUnsentEntries) {
  rig_.Hold("n3");
  const auto issued = rig_.Submit(++client_, {Put("key", "held")});
  rig_.Settle(2);
  rig_.BreakLinks("n2", "n3");
  rig_.ChangeNext(
      "n3", "n2", [](const ChainMessage& m) { return m.has_sync(); },
      [](ChainMessage* m) { m->mutable_sync()->set_cleaned(kFar); });
  rig_.Hold("n3", false);
  rig_.Settle();
  EXPECT_TRUE(rig_.changed());
  EXPECT_TRUE(issued->acknowledged());
  EXPECT_EQ(turned_down("n2").malformed, 1u);
  Execute();
  EXPECT_EQ(rig_.Difference(), "");
}

TEST_F(HostilePeerTest, AcknowledgesUnsentEntries) {
  rig_.ChangeNext(
      "n3", "n2", [](const ChainMessage& m) { return m.has_append_ack(); },
      [](ChainMessage* m) { m->mutable_append_ack()->set_received(kFar); });
  Execute();
  EXPECT_TRUE(rig_.changed());
  EXPECT_EQ(turned_down("n2").malformed, 1u);
  EXPECT_EQ(rig_.Difference(), "");
}

TEST_F(HostilePeerTest, SaysHelloOnALinkInUse) {
  rig_.ChangeNext(
      "n2", "n3", [](const ChainMessage& m) { return m.has_append(); },
      [](ChainMessage* m) {
        auto* hello = m->mutable_hello();
        hello->set_cluster_id("rig");
        hello->set_node_id("n4");
        hello->set_heap_bytes(ChainRig::Options().heap_bytes);
        hello->set_purpose(kamino::internal::v1::LINK_PURPOSE_TRANSFER);
      });
  Execute();
  EXPECT_TRUE(rig_.changed());
  EXPECT_EQ(turned_down("n3").malformed, 1u);
  EXPECT_FALSE(rig_.node("n3").core().transfer().sending);
  EXPECT_EQ(rig_.Difference(), "");
}

TEST_F(HostilePeerTest, AJoiningNodeCannotStopTheTail) {
  JoinFourth();
  rig_.ChangeNext(
      "n4", "n3", [](const ChainMessage& m) { return m.has_append_ack(); },
      [](ChainMessage* m) { m->mutable_sync()->set_received(kFar); });
  Execute();
  EXPECT_TRUE(rig_.changed());
  ASSERT_TRUE(rig_.up("n3")) << rig_.fatal("n3");
  ExpectGoesOnWithFourth();
}

TEST_F(HostilePeerTest, AJoiningNodeWithoutANameIsTurnedAway) {
  const uint64_t before = turned_down("n3").rejected;
  rig_.ChangeNext(
      "n4", "n3", [](const ChainMessage& m) { return m.has_hello(); },
      [](ChainMessage* m) { m->mutable_hello()->clear_node_id(); });
  JoinFourth();
  EXPECT_TRUE(rig_.changed());
  EXPECT_EQ(turned_down("n3").rejected, before + 1);
  ExpectGoesOnWithFourth();
}

// It holds nothing that one could go on from.
TEST_F(HostilePeerTest, ATransferThatSkipsTheHeapIsNotBelieved) {
  rig_.ChangeNext(
      "n3", "n4", [](const ChainMessage& m) { return m.has_state_begin(); },
      [](ChainMessage* m) {
        m->mutable_state_begin()->set_resume(true);
        m->mutable_state_begin()->set_applied(0);
      });
  rig_.Invite("n4");
  while (!rig_.changed()) ASSERT_TRUE(rig_.Step());
  rig_.Hold("n3");
  rig_.Settle(2);
  EXPECT_FALSE(rig_.node("n4").core().links().joiner.keeps_up());
  rig_.Hold("n3", false);
  JoinFourth();
  EXPECT_EQ(rig_.node("n4").core().transfer().damaged, 1u);
  ExpectGoesOnWithFourth();
}

TEST_F(HostilePeerTest, ATransferWithinAnotherIsNotBegun) {
  JoinFourth();
  rig_.ChangeNext(
      "n3", "n4", [](const ChainMessage& m) { return m.has_append(); },
      [](ChainMessage* m) { m->mutable_state_begin(); });
  Execute();
  EXPECT_TRUE(rig_.changed());
  EXPECT_EQ(rig_.node("n4").core().transfer().damaged, 1u);
  ExpectGoesOnWithFourth();
}

TEST_F(HostilePeerTest, ACutBeforeTheTransferBeganIsNotBelieved) {
  uint64_t before = 0;
  rig_.ChangeNext(
      "n3", "n4",
      [&before](const ChainMessage& m) {
        if (!m.has_state_chunk()) return false;
        if (EndsSnapshot(m)) return true;
        before = RecordOf(m.state_chunk().snapshot()).checksum;
        return false;
      },
      [&before](ChainMessage* m) {
        std::string* const chunk = m->mutable_state_chunk()->mutable_snapshot();
        auto end = RecordOf(*chunk);
        end.offset = 0;
        end.checksum = ChecksumOf(before, end);
        Replace(end, chunk);
      });
  JoinFourth();
  EXPECT_TRUE(rig_.changed());
  EXPECT_EQ(rig_.node("n4").core().transfer().damaged, 1u);
  ExpectGoesOnWithFourth();
}

}  // namespace
}  // namespace kamino::node
