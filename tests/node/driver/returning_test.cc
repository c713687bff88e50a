// A restarted node in its old place: its rights before its neighbours confirm
// that it holds what it must, and that a message from a node with a stale copy
// of its disk neither stops nor wipes another node.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

using kamino::internal::v1::ChainMessage;
using membership::Condition;

constexpr uint64_t kFar = uint64_t{1} << 40;

class ReturningTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rig_.StartAll();
    rig_.InstallView(all_);
    Execute();
  }

  void Execute() {
    const auto issued =
        rig_.Submit(++client_, {Put("key", std::to_string(client_))});
    rig_.Settle();
    EXPECT_TRUE(issued->acknowledged()) << issued->outcome.status;
  }

  // A quick restart in the same place, on a copy of before three operations.
  void GoBack(const std::string& name) {
    const SimDisk::Images copy = rig_.CopyDisk(name);
    for (int i = 0; i < 3; ++i) Execute();
    rig_.CutPower(name, 7);
    rig_.PutBack(name, copy);
    rig_.Start(name);
    ASSERT_TRUE(rig_.up(name)) << rig_.fatal(name);
    rig_.InstallView(all_);
    rig_.Settle(60);
  }

  void Restart(const std::string& name) {
    rig_.CutPower(name, 7);
    rig_.Start(name);
    ASSERT_TRUE(rig_.up(name)) << rig_.fatal(name);
    rig_.InstallView(all_);
  }

  Condition condition(const std::string& name) {
    return rig_.node(name).core().soundness().condition();
  }

  // The manager expels `name`, which it no longer hears.
  void ExpectGoesOnWithout(const std::string& name) {
    std::vector<std::string> rest;
    for (const std::string& each : all_) {
      ASSERT_TRUE(rig_.up(each)) << rig_.fatal(each);
      if (each != name) rest.push_back(each);
    }
    for (const std::string& each : rest) {
      EXPECT_NE(condition(each), Condition::kOutrun) << each;
      EXPECT_NE(condition(each), Condition::kReceiving) << each;
    }
    rig_.CutPower(name, 8);
    rig_.InstallView(rest);
    rig_.Settle();
    Execute();
    EXPECT_EQ(rig_.Difference(), "");
  }

  const std::vector<std::string> all_ = {"n1", "n2", "n3", "n4"};
  ChainRig rig_;
  uint64_t client_ = 0;
};

TEST_F(ReturningTest, AStaleTailIsDetectedAndTheOthersContinue) {
  GoBack("n4");
  EXPECT_EQ(condition("n4"), Condition::kOutrun);
  EXPECT_FALSE(rig_.node("n4").core().soundness().ready());
  ExpectGoesOnWithout("n4");
}

TEST_F(ReturningTest, AStaleSecondNodeIsDetectedAndTheOthersContinue) {
  GoBack("n2");
  EXPECT_EQ(condition("n2"), Condition::kOutrun);
  ExpectGoesOnWithout("n2");
}

TEST_F(ReturningTest, AStaleThirdNodeIsDetectedAndTheOthersContinue) {
  GoBack("n3");
  EXPECT_EQ(condition("n3"), Condition::kOutrun);
  ExpectGoesOnWithout("n3");
}

TEST_F(ReturningTest, AStaleHeadExecutesNothing) {
  GoBack("n1");
  EXPECT_EQ(condition("n1"), Condition::kOutrun);
  const uint64_t held = rig_.ring("n1").received();
  const auto issued = rig_.Submit(++client_, {Put("key", "of the old head")});
  rig_.Settle();
  EXPECT_EQ(rig_.ring("n1").received(), held);
  ExpectGoesOnWithout("n1");
  rig_.Retry(issued);
  rig_.Settle();
  EXPECT_TRUE(issued->acknowledged());
}

// The missing entries are in its predecessor's ring: it has them before it
// answers.
TEST_F(ReturningTest, ATailAnswersOnceItHoldsCompletedMutations) {
  Restart("n4");
  const auto read = [this] {
    return rig_.node("n4").reads().Read(
        /*scope=*/nullptr,
        [](engine::KeyValueReader&) { return absl::OkStatus(); });
  };
  rig_.Hold("n3");  // no Hello comes
  rig_.Settle(3);
  EXPECT_EQ(condition("n4"), Condition::kReturned);
  EXPECT_FALSE(read().ok());
  rig_.Hold("n3", false);
  rig_.Settle();
  EXPECT_EQ(condition("n4"), Condition::kSound);
  EXPECT_TRUE(read().ok());
  Execute();
  EXPECT_EQ(rig_.Difference(), "");
}

TEST_F(ReturningTest, AHeadExecutesOnceItsSuccessorAgrees) {
  Restart("n1");
  rig_.Hold("n2");
  rig_.Settle(3);
  EXPECT_EQ(condition("n1"), Condition::kReturned);
  const uint64_t held = rig_.ring("n1").received();
  const auto issued = rig_.Submit(++client_, {Put("key", "early")});
  rig_.Settle(3);
  EXPECT_EQ(rig_.ring("n1").received(), held);
  rig_.Hold("n2", false);
  rig_.Settle();
  EXPECT_EQ(condition("n1"), Condition::kSound);
  rig_.Retry(issued);
  rig_.Settle();
  EXPECT_TRUE(issued->acknowledged());
  EXPECT_EQ(rig_.Difference(), "");
}

// All nodes were down, so no position of cleaned entries is known, and the
// predecessor brings the stale copy up to date. If a crash interrupts that, the
// predecessor holds later states of the objects, which cannot repair it.
TEST_F(ReturningTest, AnInterruptedStaleCopyIsNotRepairedFromLaterStates) {
  const SimDisk::Images copy = rig_.CopyDisk("n4");
  for (int i = 0; i < 5; ++i) Execute();
  for (const std::string& name : all_) rig_.CutPower(name, 7);
  rig_.PutBack("n4", copy);
  rig_.StartAll();
  rig_.CutPowerAt("n4", ChainRig::Moment::kDrain, 2);
  rig_.InstallView(all_);
  rig_.Settle();
  ASSERT_TRUE(rig_.tear("n4").happened);
  rig_.Start("n4");
  ASSERT_EQ(condition("n4"), Condition::kTorn);
  ASSERT_LT(rig_.ring("n4").received(), rig_.ring("n3").received());
  rig_.InstallView(all_);
  rig_.Settle();
  ASSERT_TRUE(rig_.up("n4")) << rig_.fatal("n4");
  EXPECT_EQ(condition("n4"), Condition::kReceiving);
  rig_.InstallView({"n1", "n2", "n3"});
  rig_.Invite("n4");
  rig_.Settle(40);
  rig_.InstallView(all_);
  Execute();
  EXPECT_EQ(rig_.Difference(), "");
}

// --- One message that is not true.

TEST_F(ReturningTest, AFalsePositionOfTheSuccessorStopsNoNode) {
  // The lie goes to a node that was restarted, and to one that was not.
  rig_.ChangeNext(
      "n2", "n1", [](const ChainMessage& m) { return m.has_sync(); },
      [](ChainMessage* m) { m->mutable_sync()->set_received(kFar); });
  Restart("n1");
  rig_.Settle(60);
  EXPECT_TRUE(rig_.changed());
  EXPECT_EQ(condition("n1"), Condition::kSound);
  Execute();
  for (const uint64_t received : {kFar, uint64_t{0}}) {
    rig_.ChangeNext(
        "n4", "n3", [](const ChainMessage& m) { return m.has_sync(); },
        [received](ChainMessage* m) {
          m->mutable_sync()->set_received(received);
        });
    rig_.BreakLinks("n3", "n4");
    rig_.Settle(60);
    EXPECT_TRUE(rig_.changed());
    ASSERT_TRUE(rig_.up("n3")) << rig_.fatal("n3");
    EXPECT_EQ(condition("n3"), Condition::kSound);
    Execute();
  }
  EXPECT_EQ(rig_.Difference(), "");
}

TEST_F(ReturningTest, AFalsePositionOfThePredecessorStopsNoNode) {
  const auto lie = [this](const std::function<void(ChainMessage*)>& change) {
    rig_.ChangeNext(
        "n3", "n4",
        [](const ChainMessage& m) {
          return m.has_hello() && m.hello().purpose() ==
                                      kamino::internal::v1::LINK_PURPOSE_APPEND;
        },
        change);
  };
  const std::vector<std::function<void(ChainMessage*)>> lies = {
      [](ChainMessage* m) { m->mutable_hello()->set_cleaned(kFar); },
      [](ChainMessage* m) { m->mutable_hello()->set_applied(0); }};
  for (const auto& change : lies) {
    lie(change);
    Restart("n4");
    rig_.Settle(60);
    EXPECT_TRUE(rig_.changed());
    EXPECT_EQ(condition("n4"), Condition::kSound);
    Execute();
    lie(change);
    rig_.BreakLinks("n3", "n4");
    rig_.Settle(60);
    EXPECT_TRUE(rig_.changed());
    EXPECT_EQ(condition("n4"), Condition::kSound);
    Execute();
  }
  EXPECT_EQ(rig_.Difference(), "");
}

// --- What nodes must have in common.

TEST_F(ReturningTest, ANeighbourWithOtherSettingsIsRejected) {
  rig_.ChangeNext(
      "n3", "n4", [](const ChainMessage& m) { return m.has_hello(); },
      [](ChainMessage* m) {
        auto& range =
            (*m->mutable_hello()->mutable_agreement_ranges())["formats"];
        range.set_low(3);
        range.set_high(4);
      });
  std::string reason;
  rig_.SetTap([&](const std::string& to, replica::LinkId,
                  const ChainMessage& message, absl::string_view) {
    if (to == "n3" && message.has_reject()) reason = message.reject().reason();
  });
  rig_.BreakLinks("n3", "n4");
  rig_.Settle();
  EXPECT_TRUE(rig_.changed());
  EXPECT_EQ(reason, "formats is missing at n4, but 3 to 4 at n3");
  Execute();
  EXPECT_EQ(rig_.Difference(), "");
}

}  // namespace
}  // namespace kamino::node
