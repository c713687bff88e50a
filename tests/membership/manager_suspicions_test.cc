// How the manager acts on suspicions (membership/manager/suspicion.h).
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "membership/manager/manager_core.h"
#include "tests/faults/fault.h"
#include "tests/membership/manager_core_fixture.h"

namespace kamino::membership {
namespace {

// n1 reports that n2 does not answer, for as long as it is its successor.
class SuspicionsTest : public ManagerCoreTest {
 protected:
  void PassReporting(absl::Duration time) {
    for (const absl::Time end = now_ + time; now_ < end; now_ += kBeat) {
      for (const Member& member : all_) {
        NodeReport report{.view_id = core_.view().id,
                          .condition = Condition::kSound};
        const bool reporting =
            member.node_id == "n1" && core_.view().IndexOf("n2", 1) == 1;
        if (reporting) report.append_wait = absl::Seconds(5);
        if (member.node_id == "n2") report.disputed = divergence_;
        core_.Heartbeat("c", {member.node_id, 1, report}, now_).IgnoreError();
      }
      if (auto view = core_.ProposeView(now_)) core_.OnViewStored(*view);
    }
  }

  absl::Duration kept_out() const {
    for (const auto& known : core_.nodes(now_)) {
      if (known.state.member.node_id == "n2") return known.kept_out;
    }
    return absl::ZeroDuration();
  }

  uint64_t divergence_ = 0;  // as n2 says

  // Until it may join again; then it does.
  void Rejoin() {
    ASSERT_EQ(Register(Node("n2"), Condition::kBehind), absl::OkStatus());
    Member third = all_[2];
    while (!core_.ShouldJoin("n2", now_)) {
      ASSERT_GT(kept_out(), absl::ZeroDuration());
      Pass(kBeat, {all_[0], third});
      ASSERT_EQ(Beat("n2", 1, Condition::kBehind), absl::OkStatus());
    }
  }
};

TEST_F(SuspicionsTest, AnUnresponsiveMemberIsExpelledAndKeptOutForAWhile) {
  FormChain();
  PassReporting(kTimeout * 2.5);
  EXPECT_EQ(Names(core_.view()), "n1.1 n3.1 ");
  EXPECT_GT(kept_out(), kTimeout * 2);
  EXPECT_LE(kept_out(), kTimeout * 4);
  const absl::Time left_out = now_;
  Rejoin();
  EXPECT_EQ(kept_out(), absl::ZeroDuration());
  EXPECT_GT(now_ - left_out, kTimeout * 2);
}

TEST_F(SuspicionsTest, AChainOfTwoExpelsNoMember) {
  FormChain();
  Pass(kTimeout * 2, {all_[0], all_[1]});
  ASSERT_EQ(Names(core_.view()), "n1.1 n2.1 ");
  PassReporting(kTimeout * 5);
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.1 ");
}

// Otherwise no member could tell that the head has erred.
TEST_F(SuspicionsTest, ASuspectThatReportsADivergenceStays) {
  FormChain();
  PassReporting(kBeat);
  ASSERT_TRUE(core_.removals().suspects().present().has_value());
  ASSERT_TRUE(absl::IsNotFound(Beat("n2")));
  divergence_ = 1;
  PassReporting(kTimeout * 5);
  EXPECT_FALSE(core_.removals().suspects().present().has_value());
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.1 n3.1 ");
  divergence_ = 0;
  PassReporting(kTimeout * 2.5);
  EXPECT_EQ(Names(core_.view()), "n1.1 n3.1 ");
}

// The view without it may be stored, so it may get no lease any more.
TEST_F(SuspicionsTest, ASuspectThatReportsADivergenceTooLateIsExpelled) {
  FormChain();
  PassReporting(kBeat);
  ASSERT_TRUE(core_.removals().suspects().present().has_value());
  std::optional<View> next;
  while (!next.has_value()) {
    now_ += kBeat;
    EXPECT_EQ(Beat("n1"), absl::OkStatus());
    EXPECT_EQ(Beat("n3"), absl::OkStatus());
    next = core_.ProposeView(now_);
  }
  EXPECT_EQ(Names(*next), "n1.1 n3.1 ");
  NodeReport report{.view_id = core_.view().id,
                    .condition = Condition::kSound,
                    .disputed = 1};
  EXPECT_TRUE(absl::IsNotFound(core_.Heartbeat("c", {"n2", 1, report}, now_)));
  EXPECT_TRUE(absl::IsUnavailable(core_.Register("c", all_[1], report, now_)));
  core_.OnViewStored(*next);
  EXPECT_GT(kept_out(), absl::ZeroDuration());
}

// A connection that was cut delivers the call when it is whole again. By that
// call the node would hold other data than the view says, be expelled at once,
// and continue with the lease that it has.
TEST_F(ManagerCoreTest, AnOvertakenCallDoesNotCount) {
  FormChain();
  const std::string other_heap(16, 'o');
  NodeReport report{.view_id = core_.view().id,
                    .condition = Condition::kSound,
                    .process = 7,
                    .call = 5};
  EXPECT_EQ(core_.Heartbeat("c", {"n3", 1, report}, now_), absl::OkStatus());
  NodeReport earlier = report;
  earlier.call = 4;
  earlier.heap_id = other_heap;
  EXPECT_TRUE(
      absl::IsUnavailable(core_.Heartbeat("c", {"n3", 1, earlier}, now_)));
  EXPECT_TRUE(
      absl::IsUnavailable(core_.Register("c", Node("n3"), earlier, now_)));
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
  // Another process of that incarnation begins to count from zero.
  NodeReport another = report;
  another.process = 8;
  another.call = 1;
  EXPECT_EQ(core_.Heartbeat("c", {"n3", 1, another}, now_), absl::OkStatus());
  // Its later reports count.
  another.call = 2;
  another.heap_id = other_heap;
  EXPECT_EQ(core_.Heartbeat("c", {"n3", 1, another}, now_), absl::OkStatus());
  ASSERT_TRUE(core_.ProposeView(now_).has_value());
  EXPECT_EQ(core_.ProposeView(now_)->members.size(), 2u);
}

}  // namespace
}  // namespace kamino::membership
