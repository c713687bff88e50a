// A store of views that was put back from an older copy, or emptied.
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "membership/agent_core.h"
#include "membership/records.h"
#include "membership/view_history.h"
#include "tests/faults/fault.h"
#include "tests/membership/manager_core_fixture.h"

namespace kamino::membership {
namespace {

class StoreRecoveryTest : public ManagerCoreTest {
 protected:
  // Forms the chain, and makes views of it without n3.
  void SetUp() override {
    FormChain();
    old_ = core_.view();
    Pass(3 * kTimeout, {all_[0], all_[1]});
    newest_ = core_.view();
    ASSERT_EQ(newest_.id, 2u);
  }
  void TearDown() override { faults::PlantFault(""); }

  // As a process that was not restarted since.
  NodeReport Knows(const View& view) {
    NodeReport report;
    report.view_id = view.id;
    report.view_digest = view.digest;
    report.member_view = view.id;
    report.condition = Condition::kSound;
    return report;
  }
  absl::Status Tell(const std::string& id, const NodeReport& report) {
    return core_.Register("c", Node(id), report, now_);
  }
  // Until what was granted before has run out, with those heard of.
  void Wait(const std::vector<std::string>& ids) {
    for (int i = 0; i < 40; ++i) {
      now_ += kBeat;
      for (const std::string& id : ids) {
        EXPECT_FALSE(Tell(id, Knows(newest_)).ok());
        EXPECT_FALSE(core_.ProposeView(now_).has_value());
      }
    }
  }

  View old_;
  View newest_;
};

TEST_F(StoreRecoveryTest, NobodyIsLedWhenANodeKnowsMore) {
  Lead(old_);
  EXPECT_EQ(core_.WhyBehind(), "");
  EXPECT_EQ(Beat("n2"), absl::OkStatus());
  const absl::Status told = Tell("n1", Knows(newest_));
  EXPECT_TRUE(absl::IsUnavailable(told));
  EXPECT_EQ(told.message(), core_.WhyBehind());
  EXPECT_TRUE(absl::StrContains(told.message(), "kamino admin recover"));
  EXPECT_TRUE(absl::StrContains(told.message(), "n1 knows view 2"));
  // Nor is anyone else, not even one that knows no more than the store.
  EXPECT_FALSE(Beat("n2").ok());
  EXPECT_TRUE(absl::IsUnavailable(Tell("n3", Knows(old_))));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      core_.Exclude("n3", ManagerCore::Removal::kForced, now_)));
  Wait({"n1"});
}

TEST_F(StoreRecoveryTest, AHeartbeatTellsItToo) {
  Lead(old_);
  EXPECT_TRUE(
      absl::IsNotFound(core_.Heartbeat("c", {"n1", 1, Knows(newest_)}, now_)));
  EXPECT_NE(core_.WhyBehind(), "");
}

TEST_F(StoreRecoveryTest, SoDoesARestartedNodeThatWasAMember) {
  Lead(View());
  NodeReport report;
  report.condition = Condition::kReturned;
  report.member_view = 2;
  EXPECT_TRUE(absl::IsUnavailable(Tell("n1", report)));
  // Fresh nodes do not form another chain beside it.
  for (const char* id : {"n4", "n5", "n2"}) {
    EXPECT_FALSE(
        core_.Register("c", Node(id), {.condition = Condition::kFresh}, now_)
            .ok());
  }
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
}

TEST_F(StoreRecoveryTest, AnotherViewOfTheSameIdIsNotTheSame) {
  View other = newest_;
  other.members.pop_back();
  Succeed(old_, &other);
  Lead(other);
  EXPECT_TRUE(absl::IsUnavailable(Tell("n1", Knows(newest_))));
  EXPECT_TRUE(absl::StrContains(core_.WhyBehind(), "n1 knows another view 2"));
}

TEST_F(StoreRecoveryTest, ANodeOfAnotherPastIsLeftAlone) {
  View other = newest_;
  other.members.pop_back();
  Succeed(old_, &other);
  View later = other;
  later.id = 3;
  Succeed(other, &later);
  Lead(later);
  const absl::Status told = Tell("n2", Knows(newest_));
  EXPECT_TRUE(absl::IsFailedPrecondition(told)) << told;
  EXPECT_TRUE(absl::StrContains(told.message(), "another history"));
  // The others go on.
  EXPECT_EQ(core_.WhyBehind(), "");
  EXPECT_EQ(Tell("n1", Knows(later)), absl::OkStatus());
}

TEST_F(StoreRecoveryTest, RecoveryIsAboveAllThatIsKnown) {
  Lead(old_);
  core_.Learn(newest_);
  EXPECT_FALSE(Tell("n1", Knows(newest_)).ok());
  // Leases that were granted before may run.
  EXPECT_TRUE(absl::IsUnavailable(core_.PlanRecovery(now_).status()));
  Wait({"n1", "n2"});
  const auto plan = core_.PlanRecovery(now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_TRUE(plan->complete);
  EXPECT_FALSE(core_.ProposeView(now_).has_value());  // only planned
  ASSERT_EQ(core_.Recover(/*force=*/false, now_).status(), absl::OkStatus());
  const auto view = core_.ProposeView(now_);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(*view, plan->view);
  EXPECT_EQ(view->id, 3u);
  EXPECT_EQ(Names(*view), "n1.1 n2.1 ");
  EXPECT_EQ(view->ancestors.front(), newest_.digest);
  core_.OnViewStored(*view);
  EXPECT_EQ(core_.WhyBehind(), "");
  EXPECT_EQ(Tell("n1", Knows(newest_)), absl::OkStatus());
}

// Those who are away may have gone on in a view of their own.
TEST_F(StoreRecoveryTest, WithoutAllOfTheNewestViewItTakesForce) {
  Lead(View());
  core_.Learn(newest_);
  EXPECT_FALSE(Tell("n1", Knows(newest_)).ok());
  Wait({"n1"});
  const auto plan = core_.PlanRecovery(now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_EQ(Names(plan->view), "n1.1 ");
  EXPECT_FALSE(plan->complete);
  EXPECT_TRUE(absl::IsFailedPrecondition(core_.Recover(false, now_).status()));
}

TEST_F(StoreRecoveryTest, WithoutThoseWhoHoldEverythingItTakesForce) {
  Lead(View());
  NodeReport report;
  report.condition = Condition::kReturned;
  report.member_view = 2;
  report.cursors = {7, 7, 7};
  for (int i = 0; i < 40; ++i) {
    now_ += kBeat;
    EXPECT_FALSE(Tell("n2", report).ok());
  }
  const auto plan = core_.PlanRecovery(now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_FALSE(plan->complete);
  EXPECT_TRUE(absl::IsFailedPrecondition(core_.Recover(false, now_).status()));
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
  ASSERT_EQ(core_.Recover(/*force=*/true, now_).status(), absl::OkStatus());
  const auto view = core_.ProposeView(now_);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(Names(*view), "n2.1 ");
  EXPECT_EQ(view->id, 3u);
}

TEST_F(StoreRecoveryTest, NobodyWhoHoldsNothingIsGoneOnWith) {
  Lead(View());
  NodeReport report;
  report.condition = Condition::kBehind;
  report.member_view = 2;
  for (int i = 0; i < 40; ++i) {
    now_ += kBeat;
    EXPECT_FALSE(Tell("n2", report).ok());
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(core_.Recover(true, now_).status()));
}

TEST_F(StoreRecoveryTest, WhereNothingIsBehindThereIsNothingToRecover) {
  EXPECT_TRUE(absl::IsFailedPrecondition(core_.Recover(true, now_).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(core_.PlanRecovery(now_).status()));
}

// A manager that does not know of it would form another chain, or wipe a node.
TEST_F(StoreRecoveryTest, ANodeTakesNothingFromAYoungerChain) {
  AgentCore::Options options;
  options.cluster_id = "c";
  options.managers = {"m:1"};
  AgentCore agent(options);
  agent.Begin(Node("n1"), absl::FromUnixSeconds(1));
  NodeReport report;
  report.condition = Condition::kReturned;
  report.member_view = 2;
  agent.SetReport(report);
  AgentCore::Answer answer;
  answer.registration.set_chain_id(kOnlyChain);
  answer.registration.set_lease_ms(700);
  answer.registration.set_lease_view_id(1);
  *answer.registration.mutable_view() = ToProto(old_);
  auto effects = agent.OnAnswer(agent.Next(now_), answer, now_);
  EXPECT_EQ(effects.view, std::nullopt);
  EXPECT_EQ(effects.refused, absl::OkStatus());
  EXPECT_FALSE(agent.LeaseValid(2, now_));

  answer.registration.set_lease_view_id(2);
  answer.registration.set_lease_view_digest(newest_.digest);
  *answer.registration.mutable_view() = ToProto(newest_);
  effects = agent.OnAnswer(agent.Next(now_), answer, now_);
  EXPECT_EQ(effects.view, newest_);
  EXPECT_TRUE(agent.LeaseValid(2, now_));

  // Nor of another one that has come as far.
  AgentCore::Answer beat;
  beat.heartbeat.set_chain_id(kOnlyChain);
  beat.heartbeat.set_lease_ms(700);
  beat.heartbeat.set_lease_view_id(2);
  beat.heartbeat.set_lease_view_digest(newest_.digest + 1);
  beat.heartbeat.set_join(true);
  const absl::Time later = now_ + absl::Seconds(5);
  effects = agent.OnAnswer(agent.Next(later), beat, later);
  EXPECT_EQ(effects.invited, std::nullopt);
  EXPECT_FALSE(agent.LeaseValid(2, later));
}

}  // namespace
}  // namespace kamino::membership
