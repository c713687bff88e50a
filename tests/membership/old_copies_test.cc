// Members that return with old copies of their data, to a manager that knows
// the chain's position by the store; and recoveries by force.
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/membership/manager_core_fixture.h"

namespace kamino::membership {
namespace {

class OldCopiesTest : public ManagerCoreTest {
 protected:
  // A chain that has acknowledged 120 in its first view; then everything is
  // down, and another manager leads, which knows the stored position.
  void SetUp() override {
    FormChain();
    for (const Member& member : all_) {
      EXPECT_EQ(
          core_.Heartbeat(
              "c", {member.node_id, 1, Says(Condition::kSound, 120)}, now_),
          absl::OkStatus());
    }
    stored_ = core_.old_copies().progress();
    now_ += 10 * kTimeout;
    ManagerCoreTest::core_.LoseLeadership();
    core_.BecomeLeader(view(), Options().lease(), now_, stored_);
    core_.ExtendLeadership(absl::InfiniteFuture());
    now_ += 3 * kTimeout;
  }

  const View& view() const { return core_.view(); }
  NodeReport Says(Condition condition, uint64_t applied) const {
    NodeReport report;
    report.view_id = condition == Condition::kSound ? view().id : 0;
    report.view_digest = view().digest;
    report.view_epoch = report.view_id == 0 ? 0 : view().epoch;
    report.condition = condition;
    report.cursors = {applied, applied, 0};
    report.member_view = view().id;
    report.epoch = view().epoch;
    report.cluster_uuid = view().cluster_uuid;
    return report;
  }
  absl::Status Comes(const Member& member, uint64_t applied,
                     Condition condition = Condition::kReturned) {
    return core_.Register("c", member, Says(condition, applied), now_);
  }
  absl::Status Comes(const std::string& id, uint64_t applied,
                     Condition condition = Condition::kReturned) {
    return Comes(Node(id, 2), applied, condition);
  }
  std::string Why() { return core_.old_copies().WhyWaits(now_); }

  Progress stored_;
};

TEST_F(OldCopiesTest, TheStoreKnowsTheAcknowledgedPosition) {
  EXPECT_EQ(stored_.acknowledged, 120u);
  EXPECT_EQ(stored_.view_id, 1u);
  EXPECT_EQ(stored_.epoch, 1u);
  EXPECT_EQ(stored_.cluster_uuid, view().cluster_uuid);
  EXPECT_EQ(stored_.cluster_uuid.size(), 16u);
  EXPECT_EQ(core_.old_copies().progress(),
            stored_);    // the next leader continues from it
  EXPECT_EQ(Why(), "");  // no node has returned
}

TEST_F(OldCopiesTest, AllMembersWaitIfNoneHoldsTheAcknowledgedPosition) {
  EXPECT_TRUE(absl::IsUnavailable(Comes("n1", 90)));
  EXPECT_TRUE(absl::IsUnavailable(Comes("n2", 96)));
  const absl::Status told = Comes("n3", 94, Condition::kTorn);
  EXPECT_TRUE(absl::IsUnavailable(told));
  EXPECT_TRUE(absl::StrContains(
      told.message(),
      "it holds mutations up to 94, and those up to 120 were acknowledged in "
      "view 1"))
      << told;
  EXPECT_TRUE(absl::StrContains(
      Why(),
      "the chain waits for newer files: acknowledged up to 120 in view 1, the "
      "newest copy is that of n2 with 96"))
      << Why();
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
  EXPECT_TRUE(absl::IsNotFound(Beat("n2", 2)));
}

TEST_F(OldCopiesTest, NewerFilesLetTheChainContinue) {
  EXPECT_TRUE(absl::IsUnavailable(Comes("n1", 90)));
  EXPECT_TRUE(absl::IsUnavailable(Comes("n2", 96)));
  EXPECT_TRUE(absl::IsUnavailable(Comes("n3", 94)));
  EXPECT_EQ(Comes(Node("n2", 3), 120), absl::OkStatus());
  EXPECT_EQ(Why(), "");
  // Now the manager knows whose copy is the old one.
  EXPECT_TRUE(absl::IsFailedPrecondition(Comes("n1", 90)));
  for (int i = 0; i < 15; ++i) {
    now_ += kBeat;
    if (auto next = core_.ProposeView(now_)) core_.OnViewStored(*next);
    EXPECT_EQ(
        core_.Heartbeat("c", {"n2", 3, Says(Condition::kReturned, 120)}, now_),
        absl::OkStatus());
  }
  EXPECT_EQ(Names(view()), "n2.3 ");
  EXPECT_EQ(core_.old_copies().progress().acknowledged, 120u);
}

// Backups from before the last start of all nodes have the very incarnations
// that the view names.
TEST_F(OldCopiesTest, CopiesFromBeforeTheLastStartAreDetected) {
  EXPECT_TRUE(absl::IsUnavailable(Comes(Node("n1", 1), 90)));
  EXPECT_TRUE(absl::IsUnavailable(Comes(Node("n2", 1), 96)));
  EXPECT_TRUE(absl::StrContains(Why(), "n2 with 96"));
  const faults::Planted fault("membership-copies-never-wait");
  EXPECT_EQ(Comes(Node("n1", 1), 90), absl::OkStatus());
}

TEST_F(OldCopiesTest, AManagerThatForgetsProgressLetsOldCopiesServe) {
  const auto lead_again = [&] {
    core_.LoseLeadership();
    core_.BecomeLeader(view(), Options().lease(), now_, stored_);
    core_.ExtendLeadership(absl::InfiniteFuture());
    now_ += 3 * kTimeout;
    return Comes("n1", 90);
  };
  EXPECT_TRUE(absl::IsUnavailable(lead_again()));
  const faults::Planted fault("membership-forgets-progress");
  EXPECT_EQ(lead_again(), absl::OkStatus());
}

TEST_F(OldCopiesTest, ProgressNeverGoesBack) {
  EXPECT_EQ(Comes("n2", 130), absl::OkStatus());
  EXPECT_EQ(core_.old_copies().progress().acknowledged,
            120u);  // the chain has not acked it
  Progress other = stored_;
  other.cluster_uuid = "another";
  EXPECT_EQ(ProgressIn(view(), other).acknowledged, 0u);
  EXPECT_EQ(ProgressIn(view(), stored_), stored_);
  View next = view();
  next.epoch = 2;
  next.recovered_at = {{"n1", 90}};
  EXPECT_EQ(ProgressIn(next, stored_).acknowledged, 90u);
  EXPECT_EQ(ProgressIn(next, stored_).epoch, 2u);
}

// Mutations acknowledged since the last renewal, as while etcd was away.
TEST_F(OldCopiesTest, AFormerLeaderRemembersMoreThanIsStored) {
  Progress less = stored_;
  less.acknowledged = 60;
  const auto lead_again = [&](const View& view) {
    core_.LoseLeadership();
    core_.BecomeLeader(view, Options().lease(), now_, less);
  };
  lead_again(view());
  EXPECT_EQ(core_.old_copies().progress(), stored_);
  // Nor where the keys of the leadership were deleted.
  less = {};
  lead_again(view());
  EXPECT_EQ(core_.old_copies().progress(), stored_);
  // But it does not apply to another cluster, nor after a recovery.
  View recovered = view();
  recovered.epoch = 2;
  recovered.recovered_at = {{"n1", 90}};
  lead_again(recovered);
  EXPECT_EQ(core_.old_copies().progress().acknowledged, 90u);
}

TEST_F(OldCopiesTest, ANodeOfAnotherClusterOfTheSameNameIsRefused) {
  NodeReport report = Says(Condition::kReturned, 500);
  report.cluster_uuid = std::string(16, 'x');
  for (const char* id : {"n1", "n4"}) {
    const absl::Status told = core_.Register("c", Node(id, 2), report, now_);
    EXPECT_TRUE(absl::IsFailedPrecondition(told));
    EXPECT_TRUE(absl::StrContains(told.message(), "another cluster named c"));
    EXPECT_TRUE(absl::StrContains(told.message(), "--managers has an address"));
    EXPECT_FALSE(absl::StrContains(told.message(), "files away"));
  }
  EXPECT_EQ(core_.watch().WhyBehind(), "");
}

// --- By force.

class ForcedRecoveryTest : public OldCopiesTest {
 protected:
  void Recover() {
    EXPECT_FALSE(Comes("n1", 90).ok());
    EXPECT_FALSE(Comes("n2", 96).ok());
    EXPECT_FALSE(Comes("n3", 98, Condition::kTorn).ok());
    ASSERT_EQ(core_.recoveries().Recover(/*force=*/true, now_).status(),
              absl::OkStatus());
    const auto next = core_.ProposeView(now_);
    ASSERT_TRUE(next.has_value());
    core_.OnViewStored(*next);
  }
};

TEST_F(ForcedRecoveryTest, IsOfferedOnlyIfAllCopiesAreOld) {
  EXPECT_TRUE(
      absl::IsFailedPrecondition(core_.recoveries().Plan(now_).status()));
  EXPECT_FALSE(Comes("n2", 96).ok());
  const auto plan = core_.recoveries().Plan(now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_FALSE(plan->complete);
  EXPECT_EQ(plan->holds, 96u);
  const auto unforced = core_.recoveries().Recover(/*force=*/false, now_);
  EXPECT_TRUE(absl::IsFailedPrecondition(unforced.status()));
  EXPECT_TRUE(absl::StrContains(unforced.status().message(), "up to 96"));
  EXPECT_TRUE(
      absl::StrContains(unforced.status().message(),
                        ": start the others of view 1: n1, n3, or force"))
      << unforced.status();
  EXPECT_EQ(Comes("n1", 120), absl::OkStatus());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(core_.recoveries().Plan(now_).status()));
}

TEST_F(ForcedRecoveryTest, ARefusalNamesNoNodeToStartIfAllArePresent) {
  for (const char* id : {"n1", "n2", "n3"}) EXPECT_FALSE(Comes(id, 96).ok());
  const absl::Status unforced =
      core_.recoveries().Recover(/*force=*/false, now_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(unforced));
  EXPECT_TRUE(absl::StrContains(
      unforced.message(), ": restore newer files of a member, or force it;"))
      << unforced;
}

TEST_F(ForcedRecoveryTest, ContinuesFromTheNewestCopyThatIsNotTorn) {
  Recover();
  EXPECT_EQ(Names(view()), "n2.2 ");
  EXPECT_EQ(view().id, 2u);
  EXPECT_EQ(view().epoch, 2u);
  EXPECT_EQ(view().cluster_uuid, stored_.cluster_uuid);
  EXPECT_EQ(core_.old_copies().progress().acknowledged, 96u);
  EXPECT_EQ(Why(), "");
}

// --- By force, from nodes that the view does not name, when all that it names
// are lost.

class RecoveryFromOutsideTest : public OldCopiesTest {
 protected:
  absl::Status Plan() { return core_.recoveries().Plan(now_).status(); }
};

TEST_F(RecoveryFromOutsideTest, ContinuesFromTheNewestNode) {
  EXPECT_EQ(Comes("n4", 100), absl::OkStatus());
  EXPECT_EQ(Comes("n5", 110), absl::OkStatus());
  EXPECT_EQ(Why(), "");
  EXPECT_TRUE(absl::IsFailedPrecondition(
      core_.recoveries().Recover(false, now_).status()));
  const auto plan = core_.recoveries().Recover(/*force=*/true, now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_FALSE(plan->complete);
  EXPECT_EQ(plan->holds, 110u);
  EXPECT_EQ(plan->acknowledged, 120u);
  const auto next = core_.ProposeView(now_);
  ASSERT_TRUE(next.has_value());
  core_.OnViewStored(*next);
  EXPECT_EQ(Names(view()), "n5.2 ");
  EXPECT_EQ(view().id, 2u);
  EXPECT_EQ(view().epoch, 2u);
  EXPECT_EQ(core_.old_copies().progress().acknowledged, 110u);
  // It has not heard of the recovery yet.
  NodeReport goes_on = Says(Condition::kReturned, 110);
  goes_on.epoch = 1;
  goes_on.member_view = 1;
  EXPECT_EQ(core_.Register("c", Node("n5", 2), goes_on, now_),
            absl::OkStatus());
  // A member that returns later no longer counts: it joins anew.
  goes_on.cursors = {120, 120, 120};
  EXPECT_EQ(core_.Register("c", Node("n1", 2), goes_on, now_),
            absl::OkStatus());
  EXPECT_EQ(Names(view()), "n5.2 ");
}

TEST_F(RecoveryFromOutsideTest, IsRefusedWhileAMemberIsPresent) {
  EXPECT_EQ(Comes("n4", 100), absl::OkStatus());
  EXPECT_EQ(Plan(), absl::OkStatus());
  EXPECT_EQ(Comes("n1", 120), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(Plan())) << Plan();
}

TEST_F(RecoveryFromOutsideTest, IsRefusedForNodesThatCannotServe) {
  EXPECT_EQ(Comes("n4", 100, Condition::kTorn), absl::OkStatus());
  EXPECT_EQ(Comes("n5", 100, Condition::kBehind), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(Plan())) << Plan();
}

TEST_F(RecoveryFromOutsideTest, IsRefusedForRemovedNodes) {
  EXPECT_EQ(Comes("n4", 100), absl::OkStatus());
  EXPECT_EQ(core_.removals().Exclude("n4", Removal::kNow, now_),
            absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(Plan())) << Plan();
  EXPECT_TRUE(absl::StrContains(
      Plan().message(),
      "start the members of the chain; where all of them are lost for good, "
      "kamino admin add --no_wait n4, then kamino admin recover --confirm "
      "--force, lets the chain go on from it"))
      << Plan();
  core_.removals().Include("n4");
  EXPECT_EQ(Plan(), absl::OkStatus());
}

// If a member is there, the others are to be started: nothing else helps.
TEST_F(RecoveryFromOutsideTest, RemovedNodesAreNotNamedWhileAMemberIsPresent) {
  EXPECT_EQ(Comes("n4", 100), absl::OkStatus());
  EXPECT_EQ(core_.removals().Exclude("n4", Removal::kNow, now_),
            absl::OkStatus());
  EXPECT_EQ(Comes("n1", 120), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(Plan())) << Plan();
  EXPECT_FALSE(absl::StrContains(Plan().message(), "n4")) << Plan();
  EXPECT_TRUE(absl::StrContains(Plan().message(), "start all nodes")) << Plan();
}

// Its numbers may be of mutations that the chain never had.
TEST_F(RecoveryFromOutsideTest,
       PositionsOfAnEarlierViewAreReportedUpToTheAcknowledged) {
  NodeReport report = Says(Condition::kReturned, 300);
  report.member_view = 1;
  View next = view();
  next.id = 3;
  stored_.view_id = 3;
  core_.BecomeLeader(next, Options().lease(), now_, stored_);
  now_ += 3 * kTimeout;
  const auto holds = [&] {
    EXPECT_EQ(core_.Register("c", Node("n4", 2), report, now_),
              absl::OkStatus());
    const auto plan = core_.recoveries().Plan(now_);
    EXPECT_EQ(plan.status(), absl::OkStatus());
    EXPECT_FALSE(plan->complete);
    return plan->holds;
  };
  EXPECT_EQ(holds(), 0u);
  {
    const faults::Planted fault("membership-recovery-compares-views");
    EXPECT_EQ(holds(), 300u);
  }
  report.cursors = {110, 110, 110};
  EXPECT_EQ(holds(), 110u);
}

// Numbers of two epochs do not compare.
TEST_F(RecoveryFromOutsideTest, PositionsOfAnEarlierEpochAreNotReported) {
  NodeReport report = Says(Condition::kReturned, 300);
  report.epoch = 1;
  View next = view();
  next.epoch = 2;
  core_.BecomeLeader(next, Options().lease(), now_, stored_);
  now_ += 3 * kTimeout;
  EXPECT_EQ(core_.Register("c", Node("n4", 2), report, now_), absl::OkStatus());
  const auto plan = core_.recoveries().Plan(now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_EQ(plan->holds, 0u);
  EXPECT_EQ(plan->acknowledged, 0u);
  EXPECT_EQ(plan->view.epoch, 3u);
  EXPECT_EQ(plan->view.recovered_at.at("n4"), 300u);
}

TEST_F(ForcedRecoveryTest, ARecoveryThatKeepsTheEpochLetsLostDataReturn) {
  const faults::Planted fault("membership-recovery-keeps-epoch");
  Recover();
  NodeReport lost = Says(Condition::kReturned, 120);
  lost.epoch = 1;
  lost.member_view = 1;
  EXPECT_EQ(core_.Register("c", Node("n2", 3), lost, now_), absl::OkStatus());
}

TEST_F(ForcedRecoveryTest, LostDataThatReturnsTooLateDoesNotCount) {
  Recover();
  NodeReport lost = Says(Condition::kReturned, 120);
  lost.epoch = 1;
  lost.member_view = 1;
  NodeReport goes_on = Says(Condition::kReturned, 96);
  goes_on.epoch = 1;
  goes_on.member_view = 1;
  // The process that the view names has not heard of it yet.
  EXPECT_EQ(core_.Register("c", Node("n2", 2), goes_on, now_),
            absl::OkStatus());
  EXPECT_TRUE(
      absl::IsUnavailable(core_.Register("c", Node("n2", 3), lost, now_)));
  EXPECT_EQ(core_.Heartbeat("c", {"n2", 2, Says(Condition::kSound, 96)}, now_),
            absl::OkStatus());
  // Nodes without a place join anew.
  EXPECT_EQ(core_.Register("c", Node("n1", 3), lost, now_), absl::OkStatus());
  EXPECT_EQ(core_.watch().WhyBehind(), "");
}

TEST_F(ForcedRecoveryTest, ALaterViewOfAnEarlierEpochIsNotAhead) {
  Recover();
  NodeReport away = Says(Condition::kReturned, 300);
  away.epoch = 1;
  away.member_view = 9;
  EXPECT_EQ(core_.Register("c", Node("n3", 5), away, now_), absl::OkStatus());
  away.view_id = 9;
  away.view_epoch = 1;
  const absl::Status told = core_.Register("c", Node("n3", 5), away, now_);
  EXPECT_TRUE(absl::IsFailedPrecondition(told));
  EXPECT_TRUE(absl::StrContains(told.message(), "start the node again"));
  EXPECT_EQ(core_.watch().WhyBehind(), "");
  // But one of a later epoch is named.
  away.epoch = 3;
  away.view_id = 0;
  EXPECT_TRUE(
      absl::IsUnavailable(core_.Register("c", Node("n3", 6), away, now_)));
  EXPECT_TRUE(absl::StrContains(core_.watch().WhyBehind(), "view 9"));
}

TEST_F(ForcedRecoveryTest, SequencesCompareWithinOneEpochAndView) {
  NodeReport one = Says(Condition::kReturned, 120);
  NodeReport two = Says(Condition::kReturned, 96);
  two.member_view = 5;
  EXPECT_LT(RankOf(one), RankOf(two));
  one.epoch = 2;
  EXPECT_GT(RankOf(one), RankOf(two));
  two.epoch = 2;
  two.member_view = one.member_view;
  EXPECT_GT(RankOf(one), RankOf(two));
}

}  // namespace
}  // namespace kamino::membership
