// A store of views that was put back to an older copy, or emptied.
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "membership/agent/agent_core.h"
#include "membership/records.h"
#include "membership/view_history.h"
#include "tests/faults/fault.h"
#include "tests/membership/store_recovery_fixture.h"

namespace kamino::membership {
namespace {

TEST_F(StoreRecoveryTest, AManagerGrantsNoLeaseOnceANodeKnowsALaterView) {
  Lead(old_);
  EXPECT_EQ(core_.watch().WhyBehind(), "");
  // Once it has waited for the others, n2 gets a lease by the old store.
  const absl::Time leases = now_ + kTimeout;
  while (now_ < leases) {
    EXPECT_TRUE(absl::IsUnavailable(Beat("n2")));
    now_ += kBeat;
  }
  EXPECT_EQ(Beat("n2"), absl::OkStatus());
  const absl::Status told = Tell("n1", newest_);
  EXPECT_TRUE(absl::IsUnavailable(told));
  EXPECT_EQ(told.message(), core_.watch().WhyBehind());
  EXPECT_TRUE(absl::StrContains(told.message(), "kamino admin recover"));
  EXPECT_TRUE(absl::StrContains(told.message(), "n1 knows view 2"));
  // Nor does any other node, not even one that knows no more than the store.
  EXPECT_FALSE(Beat("n2").ok());
  EXPECT_TRUE(absl::IsUnavailable(Tell("n3", old_)));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      core_.removals().Exclude("n3", Removal::kForced, now_)));
  Wait({"n1"});
}

TEST_F(StoreRecoveryTest, AHeartbeatWithALaterViewMakesTheNodeRegister) {
  Lead(old_);
  EXPECT_TRUE(
      absl::IsNotFound(core_.Heartbeat("c", {"n1", 1, Knows(newest_)}, now_)));
  // Once it shows that view, which it does next.
  EXPECT_EQ(core_.watch().WhyBehind(), "");
  EXPECT_TRUE(absl::IsUnavailable(Tell("n1", newest_)));
  EXPECT_NE(core_.watch().WhyBehind(), "");
}

TEST_F(StoreRecoveryTest, ARestartedMemberExposesAnEmptiedStore) {
  Lead(View());
  EXPECT_TRUE(absl::IsUnavailable(Tell("n1", WasIn(2, Condition::kReturned))));
  // Fresh nodes do not form another chain beside it.
  for (const char* id : {"n4", "n5", "n2"}) {
    EXPECT_FALSE(
        core_.Register("c", Node(id), {.condition = Condition::kFresh}, now_)
            .ok());
  }
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
}

TEST_F(StoreRecoveryTest, AnotherViewOfTheSameIdIsDetected) {
  View other = newest_;
  other.members.pop_back();
  Succeed(old_, &other);
  Lead(other);
  EXPECT_TRUE(absl::IsUnavailable(Tell("n1", newest_)));
  EXPECT_TRUE(
      absl::StrContains(core_.watch().WhyBehind(), "n1 knows another view 2"));
}

TEST_F(StoreRecoveryTest, ANodeOfAnotherHistoryIsRefused) {
  View other = newest_;
  other.members.pop_back();
  Succeed(old_, &other);
  View later = other;
  later.id = 3;
  Succeed(other, &later);
  Lead(later);
  const absl::Status told = Tell("n2", newest_);
  EXPECT_TRUE(absl::IsFailedPrecondition(told)) << told;
  EXPECT_TRUE(absl::StrContains(told.message(), "another history"));
  // The others continue.
  EXPECT_EQ(core_.watch().WhyBehind(), "");
  EXPECT_EQ(Tell("n1", later), absl::OkStatus());
}

TEST_F(StoreRecoveryTest, ARecoveryFollowsAllKnownViews) {
  Lead(old_);
  EXPECT_FALSE(Tell("n1", newest_).ok());
  // Earlier leases may still run.
  EXPECT_TRUE(absl::IsUnavailable(core_.recoveries().Plan(now_).status()));
  Wait({"n1", "n2"});
  const auto plan = core_.recoveries().Plan(now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_TRUE(plan->complete);
  EXPECT_FALSE(core_.ProposeView(now_).has_value());  // only planned
  ASSERT_EQ(core_.recoveries().Recover(/*force=*/false, now_).status(),
            absl::OkStatus());
  const auto view = core_.ProposeView(now_);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(*view, plan->view);
  EXPECT_EQ(view->id, 3u);
  EXPECT_EQ(Names(*view), "n1.1 n2.1 ");
  EXPECT_EQ(view->ancestors.front(), newest_.digest);
  core_.OnViewStored(*view);
  EXPECT_EQ(core_.watch().WhyBehind(), "");
  EXPECT_EQ(Tell("n1", newest_), absl::OkStatus());
}

// Absent members may have continued in a view of their own.
TEST_F(StoreRecoveryTest, ARecoveryWithoutAllNewestMembersNeedsForce) {
  Lead(View());
  EXPECT_FALSE(Tell("n1", newest_).ok());
  Wait({"n1"});
  const auto plan = core_.recoveries().Plan(now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_EQ(Names(plan->view), "n1.1 ");
  EXPECT_FALSE(plan->complete);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      core_.recoveries().Recover(false, now_).status()));
}

TEST_F(StoreRecoveryTest, ARecoveryByARestartedMemberAloneNeedsForce) {
  Lead(View());
  NodeReport report = WasIn(2, Condition::kReturned);
  report.cursors = {7, 7, 7};
  for (int i = 0; i < 40; ++i) {
    now_ += kBeat;
    EXPECT_FALSE(Tell("n2", report).ok());
  }
  const auto plan = core_.recoveries().Plan(now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_FALSE(plan->complete);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      core_.recoveries().Recover(false, now_).status()));
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
  ASSERT_EQ(core_.recoveries().Recover(/*force=*/true, now_).status(),
            absl::OkStatus());
  const auto view = core_.ProposeView(now_);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(Names(*view), "n2.1 ");
  EXPECT_EQ(view->id, 3u);
}

// If two views have one id, the one with the later recovery epoch is newer.
class TwoEpochsTest : public StoreRecoveryTest {
 protected:
  // n2 was paused in view 3; without it the chain was recovered by force, and
  // continued in a view 3 of its own, of which n1, restarted since, was a
  // member. Then the store was emptied.
  void Meet() {
    View slept = newest_;
    slept.id = 3;
    slept.members = {all_[1]};
    Succeed(newest_, &slept);
    NodeReport sleeper = Knows(slept);
    sleeper.view_epoch = sleeper.epoch = 1;
    sleeper.cursors = {44, 44, 44};
    NodeReport later = WasIn(3, Condition::kReturned);
    later.epoch = 2;
    later.cursors = {60, 60, 60};
    Lead(View());
    for (int i = 0; i < 40; ++i) {
      now_ += kBeat;
      EXPECT_FALSE(Tell("n1", later).ok());
      EXPECT_FALSE(Tell("n2", sleeper, slept).ok());
    }
  }
};

TEST_F(TwoEpochsTest, ARecoveryOmitsANodeOfTheEarlierEpoch) {
  Meet();
  EXPECT_TRUE(absl::IsFailedPrecondition(
      core_.recoveries().Recover(false, now_).status()));
  const auto plan = core_.recoveries().Recover(/*force=*/true, now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_FALSE(plan->complete);
  EXPECT_EQ(Names(plan->view), "n1.1 ");
  EXPECT_EQ(plan->view.id, 4u);
  EXPECT_EQ(plan->view.epoch, 3u);
}

TEST_F(TwoEpochsTest, ARecoveryByViewIdsAloneIsDetected) {
  faults::PlantFault("membership-recovers-by-ids-alone");
  Meet();
  const auto plan = core_.recoveries().Plan(now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_TRUE(plan->complete);
  EXPECT_EQ(Names(plan->view), "n2.1 ");
  EXPECT_TRUE(faults::PlantedFaultWasMet());
}

TEST_F(StoreRecoveryTest, ARecoveryFollowsViewsOfNodesThatAreGone) {
  View later = newest_;
  later.id = 3;
  Succeed(newest_, &later);
  Lead(old_);
  EXPECT_FALSE(Tell("n3", later).ok());
  Wait({"n1", "n2"});
  EXPECT_TRUE(absl::IsFailedPrecondition(
      core_.recoveries().Recover(false, now_).status()));
  const auto plan = core_.recoveries().Plan(now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_EQ(Names(plan->view), "n1.1 n2.1 ");
  EXPECT_EQ(plan->view.id, 4u);
  EXPECT_EQ(plan->view.epoch, 2u);
}

// Progress written by the previous leader after etcd had been put back.
class ProgressAheadTest : public StoreRecoveryTest {
 protected:
  void SetUp() override {
    StoreRecoveryTest::SetUp();
    stored_ = {newest_.cluster_uuid, 1, 2, 44};
  }
  void LeadBy(const View& view) {
    core_.BecomeLeader(view, Options().lease(), now_, stored_);
    core_.ExtendLeadership(absl::InfiniteFuture());
  }
  NodeReport Returned() {
    NodeReport report = WasIn(1, Condition::kReturned);
    report.epoch = 1;
    report.cursors = {10, 10, 10};
    return report;
  }

  Progress stored_;
};

TEST_F(ProgressAheadTest, AStoreBehindItsOwnProgressIsDetected) {
  LeadBy(old_);
  EXPECT_TRUE(
      absl::StrContains(core_.watch().WhyBehind(),
                        "there is view 1, but a former leader used view 2"))
      << core_.watch().WhyBehind();
  // Nor does the store count again after a while.
  for (int i = 0; i < 1000; ++i) {
    now_ += kBeat;
    // No node is told that its data is old.
    const absl::Status told = Tell("n2", Returned());
    ASSERT_TRUE(absl::IsUnavailable(told)) << told;
    ASSERT_EQ(told.message(), core_.watch().WhyBehind());
    ASSERT_FALSE(core_.ProposeView(now_).has_value());
  }
  EXPECT_EQ(core_.old_copies().progress(), stored_);  // for the next leader
}

TEST_F(ProgressAheadTest, AStoreWithProgressButNoViewIsDetected) {
  LeadBy(View());
  EXPECT_TRUE(
      absl::StrContains(core_.watch().WhyBehind(), "there is no view, but"));
  EXPECT_EQ(core_.old_copies().progress(), stored_);
}

TEST_F(ProgressAheadTest, AStoreWithTheViewOfItsProgressIsNotBehind) {
  LeadBy(newest_);
  EXPECT_EQ(core_.watch().WhyBehind(), "");
}

TEST_F(ProgressAheadTest, ProgressOfAnotherClusterIsIgnored) {
  stored_.cluster_uuid = std::string(16, 'x');
  LeadBy(old_);
  EXPECT_EQ(core_.watch().WhyBehind(), "");
}

TEST_F(ProgressAheadTest, MembersOfTheNewestViewRecoverTheStore) {
  LeadBy(old_);
  Wait({"n1", "n2"});
  const auto plan = core_.recoveries().Recover(/*force=*/false, now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_EQ(plan->view.id, 3u);
  EXPECT_EQ(plan->view.epoch, 1u);
  core_.OnViewStored(plan->view);
  EXPECT_EQ(core_.watch().WhyBehind(), "");
  EXPECT_EQ(core_.old_copies().progress(), stored_);
}

TEST_F(ProgressAheadTest, AForcedRecoveryFollowsTheViewOfTheProgress) {
  LeadBy(old_);
  for (int i = 0; i < 40; ++i) {
    now_ += kBeat;
    EXPECT_FALSE(Tell("n2", Returned()).ok());
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(
      core_.recoveries().Recover(false, now_).status()));
  const auto plan = core_.recoveries().Recover(/*force=*/true, now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_EQ(Names(plan->view), "n2.1 ");
  EXPECT_EQ(plan->view.id, 3u);
  EXPECT_EQ(plan->view.epoch, 2u);
  core_.OnViewStored(plan->view);
  EXPECT_EQ(core_.watch().WhyBehind(), "");
  EXPECT_EQ(core_.old_copies().progress().acknowledged, 10u);
}

TEST_F(ProgressAheadTest, AManagerThatUsesAnOlderViewIsDetected) {
  faults::PlantFault("membership-goes-by-a-view-before-its-progress");
  LeadBy(old_);
  EXPECT_EQ(core_.watch().WhyBehind(), "");
  EXPECT_TRUE(faults::PlantedFaultWasMet());
}

TEST_F(StoreRecoveryTest, ANodeThatIsBehindCannotRecoverTheChain) {
  Lead(View());
  const NodeReport report = WasIn(2, Condition::kBehind);
  for (int i = 0; i < 40; ++i) {
    now_ += kBeat;
    EXPECT_FALSE(Tell("n2", report).ok());
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(
      core_.recoveries().Recover(true, now_).status()));
}

// All nodes were restarted; their store was emptied.
class AllReturnTest : public StoreRecoveryTest {
 protected:
  struct Came {
    std::string id;
    Condition condition;
    Cursors cursors;
  };
  void Come(const std::vector<Came>& nodes) {
    Lead(View());
    for (int i = 0; i < 40; ++i) {
      now_ += kBeat;
      for (const Came& node : nodes) {
        NodeReport report = WasIn(2, node.condition);
        report.cursors = node.cursors;
        EXPECT_FALSE(Tell(node.id, report).ok());
      }
    }
  }
  // By force; or why it is refused.
  std::string Recovered() {
    const auto plan = core_.recoveries().Recover(/*force=*/true, now_);
    if (!plan.ok()) return std::string(plan.status().message());
    EXPECT_FALSE(plan->complete);
    EXPECT_TRUE(absl::StrContains(plan->rather, "others of view 2"));
    return Names(plan->view);
  }
};

TEST_F(AllReturnTest, ATornNodeAloneCannotRecoverTheChain) {
  Come({{"n1", Condition::kTorn, {69, 68, 60}}});
  const std::string why = Recovered();
  EXPECT_TRUE(absl::StrContains(
      why,
      "node n1 is torn, and no node that is alive can repair it: start "
      "another member of view 2;"))
      << why;
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
  // Once stopped, it is in no node's way.
  for (int i = 0; i < 15; ++i) {
    now_ += kBeat;
    EXPECT_FALSE(Tell("n2", WasIn(1, Condition::kReturned)).ok());
  }
  const auto plan = core_.recoveries().Plan(now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_EQ(Names(plan->view), "n2.1 ");
  EXPECT_EQ(plan->view.id, 3u);
}

TEST_F(AllReturnTest, ARefusalNamesTheMembersToStart) {
  Come({{"n1", Condition::kTorn, {69, 68, 60}}});
  EXPECT_FALSE(Tell("n4", newest_).ok());
  const std::string why = Recovered();
  EXPECT_TRUE(absl::StrContains(why, "start another member of view 2: n2;"))
      << why;
}

TEST_F(AllReturnTest, ATornNodeRecoversBesideANodeThatRepairsIt) {
  Come({{"n1", Condition::kTorn, {69, 68, 60}},
        {"n2", Condition::kReturned, {70, 69, 60}}});
  EXPECT_EQ(Recovered(), "n2.1 n1.1 ");
}

TEST_F(AllReturnTest, AnOldCopyCannotRepairATornNode) {
  Come({{"n1", Condition::kTorn, {69, 68, 60}},
        {"n2", Condition::kReturned, {44, 44, 40}}});
  EXPECT_TRUE(absl::StrContains(Recovered(), "node n1 is torn"));
}

TEST_F(AllReturnTest, ANodeThatIsBehindIsNotHead) {
  Come({{"n1", Condition::kBehind, {69, 69, 60}},
        {"n2", Condition::kReturned, {69, 69, 60}}});
  EXPECT_EQ(Recovered(), "n2.1 n1.1 ");
}

// The chain's order was n3, n2, n1.
TEST_F(AllReturnTest, NodesThatHaveAppliedLessComeLater) {
  Come({{"n1", Condition::kTorn, {69, 68, 60}},
        {"n2", Condition::kReturned, {69, 69, 60}},
        {"n3", Condition::kReturned, {70, 69, 60}}});
  EXPECT_EQ(Recovered(), "n3.1 n2.1 n1.1 ");
}

TEST_F(AllReturnTest, OldMistakesAreDetected) {
  faults::PlantFault("membership-recovers-with-torn-alone");
  Come({{"n1", Condition::kTorn, {69, 68, 60}}});
  EXPECT_EQ(Recovered(), "n1.1 ");
  EXPECT_TRUE(faults::PlantedFaultWasMet());
}

TEST_F(AllReturnTest, ARecoveryOrderedByReceivedAloneIsDetected) {
  faults::PlantFault("membership-orders-by-received-alone");
  Come({{"n1", Condition::kTorn, {69, 68, 60}},
        {"n2", Condition::kReturned, {69, 69, 60}}});
  EXPECT_EQ(Recovered(), "n1.1 n2.1 ");
  EXPECT_TRUE(faults::PlantedFaultWasMet());
}

TEST_F(StoreRecoveryTest, AStoreThatIsNotBehindIsNotRecovered) {
  EXPECT_TRUE(absl::IsFailedPrecondition(
      core_.recoveries().Recover(true, now_).status()));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(core_.recoveries().Plan(now_).status()));
}

// A manager that does not know it would form another chain, or wipe a node.
TEST_F(StoreRecoveryTest, ANodeTakesNoViewOrLeaseFromAYoungerChain) {
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
  EXPECT_FALSE(agent.lease().Valid(2, now_));

  answer.registration.set_lease_view_id(2);
  answer.registration.set_lease_view_digest(newest_.digest);
  *answer.registration.mutable_view() = ToProto(newest_);
  effects = agent.OnAnswer(agent.Next(now_), answer, now_);
  EXPECT_EQ(effects.view, newest_);
  EXPECT_TRUE(agent.lease().Valid(2, now_));

  // Nor from another chain with as high a view.
  AgentCore::Answer beat;
  beat.heartbeat.set_chain_id(kOnlyChain);
  beat.heartbeat.set_lease_ms(700);
  beat.heartbeat.set_lease_view_id(2);
  beat.heartbeat.set_lease_view_digest(newest_.digest + 1);
  beat.heartbeat.set_join(true);
  const absl::Time later = now_ + absl::Seconds(5);
  effects = agent.OnAnswer(agent.Next(later), beat, later);
  EXPECT_EQ(effects.invited, std::nullopt);
  EXPECT_FALSE(agent.lease().Valid(2, later));
}

// While any node reports a later view, the nodes' reports stay known.
TEST_F(StoreRecoveryTest, ReportsAreKeptWhileTheStoreIsBehind) {
  Lead(old_);
  EXPECT_FALSE(Tell("n1", newest_).ok());
  for (int i = 0; i < 60; ++i) {
    Wait({"n1", "n2"});
    EXPECT_NE(core_.watch().WhyBehind(), "");
    const auto plan = core_.recoveries().Plan(now_);
    ASSERT_EQ(plan.status(), absl::OkStatus());
    EXPECT_TRUE(plan->complete);
  }
}

TEST_F(StoreRecoveryTest, AManagerThatForgetsReportsIsDetected) {
  faults::PlantFault("membership-forgets-the-node-that-is-ahead");
  Lead(old_);
  EXPECT_FALSE(Tell("n1", newest_).ok());
  bool forgotten = false;
  for (int i = 0; i < 400; ++i) {
    now_ += kBeat;
    EXPECT_FALSE(core_.ProposeView(now_).has_value());
    forgotten = forgotten || core_.watch().WhyBehind().empty();
    EXPECT_FALSE(Tell("n1", newest_).ok());
  }
  EXPECT_TRUE(forgotten);
  EXPECT_TRUE(faults::PlantedFaultWasMet());
}

// It was a stray node, and was stopped.
TEST_F(StoreRecoveryTest, TheStoreCountsAgainOnceNoNodeReportsALaterView) {
  Lead(old_);
  EXPECT_FALSE(Tell("n1", newest_).ok());
  for (int i = 0; i < 890; ++i) {
    now_ += kBeat;
    EXPECT_FALSE(Tell("n3", old_).ok());
    EXPECT_FALSE(core_.ProposeView(now_).has_value());
  }
  EXPECT_NE(core_.watch().WhyBehind(), "");
  now_ += absl::Seconds(2);
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
  EXPECT_EQ(core_.watch().WhyBehind(), "");
  // As under a new leader, a node that was heard has its time to come, and none
  // gets a lease before.
  for (const char* id : {"n3", "n2"}) {
    const absl::Status told = Tell(id, old_);
    EXPECT_TRUE(absl::IsUnavailable(told));
    EXPECT_TRUE(
        absl::StrContains(told.message(), "waits to hear from node n1"));
  }
  Pass(kTimeout - kMs, {all_[1], all_[2]}, Condition::kSound,
       absl::StatusCode::kUnavailable);
  EXPECT_EQ(core_.view(), old_);
  now_ += kMs;
  Pass(kTimeout * 3, {all_[1], all_[2]});
  EXPECT_EQ(Names(core_.view()), "n2.1 n3.1 ");
}

TEST_F(StoreRecoveryTest, NoRecoveryBeginsWhileAViewIsWritten) {
  Lead(old_);
  HearMembers();
  Pass(kTimeout / 2, {all_[0], all_[1]});
  std::optional<View> proposed;
  while (!proposed.has_value()) {
    now_ += kBeat;
    EXPECT_EQ(Beat("n1"), absl::OkStatus());
    EXPECT_EQ(Beat("n2"), absl::OkStatus());
    proposed = core_.ProposeView(now_);
  }
  EXPECT_TRUE(
      absl::IsUnavailable(core_.recoveries().Recover(true, now_).status()));

  // The view is not written again once a node knows a later one; if it is
  // stored nevertheless, the store is still behind.
  View later = newest_;
  later.id = 3;
  Succeed(newest_, &later);
  EXPECT_TRUE(absl::IsUnavailable(Tell("n3", later)));
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
  EXPECT_FALSE(core_.writes_view());
  core_.OnViewStored(*proposed);
  EXPECT_TRUE(absl::StrContains(core_.watch().WhyBehind(),
                                "there is view 2, but node n3 knows view 3"));
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
}

}  // namespace
}  // namespace kamino::membership
