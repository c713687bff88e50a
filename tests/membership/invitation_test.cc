#include "membership/manager/invitation.h"

#include "gtest/gtest.h"
#include "tests/membership/manager_core_fixture.h"

namespace kamino::membership {
namespace {

class InvitationTest : public ManagerCoreTest {};

TEST_F(InvitationTest, ANodeThatNeverJoinsLosesTheInvitation) {
  FormChain();
  Pass(kTimeout, {all_[0], all_[2]});
  Condition second = Condition::kBehind;
  ASSERT_EQ(Register(Node("n4"), Condition::kBehind), absl::OkStatus());
  ASSERT_EQ(Register(Node("n5"), Condition::kBehind), absl::OkStatus());
  const auto first_is_invited = [&] {
    Pass(kBeat, {all_[0], all_[2]});
    EXPECT_EQ(Beat("n4", 1, Condition::kBehind), absl::OkStatus());
    EXPECT_EQ(Beat("n5", 1, second), absl::OkStatus());
    EXPECT_NE(core_.ShouldJoin("n4", now_), core_.ShouldJoin("n5", now_));
    return core_.ShouldJoin("n4", now_);
  };
  for (const bool first : {true, false, true}) {
    int beats = 0;
    while (first_is_invited() == first && beats < 1000) ++beats;
    EXPECT_NEAR(beats, 300, 2);
  }
  // A node that receives the state keeps it for longer.
  second = Condition::kReceiving;
  int beats = 0;
  while (!first_is_invited() && beats < 2000) ++beats;
  EXPECT_NEAR(beats, 600, 4);
  second = Condition::kBehind;
  beats = 0;
  while (first_is_invited() && beats < 1000) ++beats;
  EXPECT_NEAR(beats, 300, 2);
  for (const int turn : {1200, 2400}) {
    second = Condition::kReceiving;
    beats = 0;
    while (!first_is_invited() && beats < 5000) ++beats;
    EXPECT_NEAR(beats, turn, 4);
    second = Condition::kBehind;
    while (first_is_invited()) {
    }
  }
}

TEST_F(InvitationTest, ALoneReceivingNodeKeepsTheInvitation) {
  FormChain();
  Pass(kTimeout, {all_[0], all_[2]});
  ASSERT_EQ(Register(Node("n4"), Condition::kBehind), absl::OkStatus());
  for (int i = 0; i < 2000; ++i) {
    Pass(kBeat, {all_[0], all_[2]});
    EXPECT_EQ(Beat("n4", 1, Condition::kReceiving), absl::OkStatus());
    ASSERT_TRUE(core_.ShouldJoin("n4", now_)) << i;
  }
}

}  // namespace
}  // namespace kamino::membership
