// Leadership: which manager leads, and until when.
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "membership/manager/manager_loop.h"
#include "membership/records.h"
#include "membership/view_history.h"
#include "tests/faults/fault.h"
#include "tests/membership/fake_etcd.h"
#include "tests/membership/leadership_fixture.h"

namespace kamino::membership {
namespace {

TEST_F(LeadershipTest, TheRenewalNamesTheLeaderAndItsTimes) {
  Rounds(&a_);
  ASSERT_TRUE(Leads(a_));
  EXPECT_EQ(etcd_.Get(kLeaderKey).value, "a:1");
  EXPECT_EQ(Renewal().leader(), "a:1");
  EXPECT_EQ(Renewal().ttl_ms(), 3000u);
  // Earlier leaders are unknown: a TTL and a lease.
  EXPECT_EQ(Renewal().node_lease_ms(), 3700u);
  now_ += 1000 * kMs;
  Rounds(&a_, 2);
  EXPECT_EQ(Renewal().node_lease_ms(), 2700u);
  EXPECT_FALSE(Renewal().resigned());
}

TEST_F(LeadershipTest, AStandbyNamesALeaderWhileItSeesRenewals) {
  Rounds(&a_);
  ASSERT_TRUE(Leads(a_));
  for (int i = 0; i < 20; ++i) {
    now_ += 500 * kMs;
    Rounds(&a_, 2);
    Rounds(&b_, 2);
    ASSERT_EQ(NamedBy(&b_), "a:1");
  }
  // It no longer reaches etcd.
  now_ += kTtl - kMs;
  EXPECT_EQ(NamedBy(&b_), "a:1");
  now_ += kMs;
  EXPECT_EQ(NamedBy(&b_), "");
  faults::PlantFault("membership-names-leaders-that-are-silent");
  EXPECT_EQ(NamedBy(&b_), "a:1");
  EXPECT_TRUE(faults::PlantedFaultWasMet());
}

TEST_F(LeadershipTest, AStandbyKnowsItsClusterByTheStoredView) {
  const std::string uuid(16, '\x11');
  PutView(uuid);
  Rounds(&a_);
  ASSERT_TRUE(Leads(a_));
  EXPECT_EQ(a_.cluster_uuid(), uuid);
  EXPECT_EQ(b_.cluster_uuid(), "");
  Rounds(&b_, 1);
  EXPECT_EQ(b_.cluster_uuid(), uuid);
  // For a while another cluster's etcd is at the address.
  const std::string other(16, '\x22');
  PutView(other);
  Rounds(&b_, 1);
  EXPECT_EQ(b_.cluster_uuid(), other);
  PutView(uuid);
  Rounds(&b_, 1);
  EXPECT_EQ(b_.cluster_uuid(), uuid);
  PutView("");
  Rounds(&b_, 1);
  EXPECT_EQ(b_.cluster_uuid(), uuid);
}

TEST_F(LeadershipTest, EachRenewalIsAWrite) {
  Rounds(&a_);
  for (int i = 0; i < 20; ++i) {
    const Etcd::Value leader = etcd_.Get(kLeaderKey);
    const Etcd::Value renewal = etcd_.Get(kRenewalKey);
    now_ += 1000 * kMs;
    Rounds(&a_, 2);
    ASSERT_TRUE(Leads(a_));
    EXPECT_GT(etcd_.Get(kRenewalKey).mod_revision, renewal.mod_revision);
    EXPECT_EQ(etcd_.Get(kLeaderKey).mod_revision, leader.mod_revision);
  }
}

TEST_F(LeadershipTest, ALeadershipCountsFromTheSendingOfItsRenewal) {
  EXPECT_EQ(LeadsAfterRenewal(), kLeadership);
  faults::PlantFault("membership-leads-from-the-answer");
  EXPECT_GT(LeadsAfterRenewal(), kLeadership);
}

TEST_F(LeadershipTest, AWonLeadershipCountsFromTheSendingOfItsCampaign) {
  Round(&a_);
  const absl::Time sent = now_;
  const auto answer = Ask(&a_);
  ASSERT_TRUE(answer.has_value());
  ASSERT_EQ(asked_, Kind::kCampaign);
  now_ += 800 * kMs;
  a_.OnAnswer(*answer, now_);
  now_ = sent + kLeadership - kMs;
  EXPECT_TRUE(Leads(a_));
  now_ += kMs;
  EXPECT_FALSE(Leads(a_));
}

// Counted from the look that first showed no change: an answer may show a state
// older than the answer, not a younger one.
TEST_F(LeadershipTest, AStandbyTakesOverAfterATtlWithoutChange) {
  Rounds(&a_);
  const auto look = Ask(&b_);
  ASSERT_TRUE(look.has_value());
  now_ += 500 * kMs;
  b_.OnAnswer(*look, now_);
  EXPECT_EQ(AwaitLeader(&b_), kTtl);
  EXPECT_FALSE(Leads(a_));
  EXPECT_EQ(etcd_.Get(kLeaderKey).value, "b:1");
  // The former leader learns of it at its next renewal.
  Rounds(&a_);
  EXPECT_FALSE(Leads(a_));
  EXPECT_EQ(Renewal().leader(), "b:1");
}

TEST_F(LeadershipTest, AStandbyThatDoesNotWaitIsDetected) {
  Rounds(&a_);
  Rounds(&b_);
  faults::PlantFault("membership-standby-is-hasty");
  EXPECT_LT(AwaitLeader(&b_), kTtl);
  EXPECT_TRUE(Leads(a_));
}

TEST_F(LeadershipTest, AStandbyUsesTheTtlOfTheLeader) {
  ManagerLoop::Options slow = OptionsOf("a:1");
  slow.leader_ttl = 10 * kTtl;
  ManagerLoop a(slow);
  Rounds(&a);
  Rounds(&b_);
  now_ += 10 * kTtl - kMs;
  Rounds(&b_);
  EXPECT_FALSE(Leads(b_));
  now_ += kMs;
  Rounds(&b_);
  EXPECT_TRUE(Leads(b_));
}

// The leadership's own keys are older than the lost writes, and unchanged.
TEST_F(LeadershipTest, TheNextRenewalDetectsARestoredStore) {
  for (const bool noticed : {true, false}) {
    faults::PlantFault(noticed ? "" : "membership-renews-whatever-is-stored");
    PutView();
    ManagerLoop loop(OptionsOf("c:1"));
    AwaitLeader(&loop);
    ASSERT_EQ(loop.core().view().id, 1u);
    etcd_.Delete(kViewKey);
    now_ += 1000 * kMs;
    Round(&loop);
    EXPECT_EQ(asked_, Kind::kRenew);
    EXPECT_EQ(Leads(loop), !noticed);
    Rounds(&loop);
    EXPECT_TRUE(Leads(loop));
    EXPECT_EQ(loop.core().view().id, noticed ? 0u : 1u);
  }
}

// The look that let it campaign was of a past without renewals.
TEST_F(LeadershipTest, AnUnseenRenewalDefeatsTheCampaignOfAStandby) {
  Rounds(&a_);
  Rounds(&b_);
  now_ += 1500 * kMs;
  EtcdAnswer past;
  {
    const auto look = Ask(&b_);
    ASSERT_TRUE(look.has_value());
    past = *look;
    b_.OnAnswer(past, now_);
  }
  Rounds(&a_);
  ASSERT_TRUE(Leads(a_));
  now_ += 1500 * kMs;
  ManagerLoop::Step step = b_.Next(now_);
  if (!step.call.has_value()) step = b_.Next(now_);
  ASSERT_TRUE(step.call.has_value());
  b_.OnAnswer(past, now_);  // of a member that is behind
  Rounds(&b_, 1);
  EXPECT_EQ(asked_, Kind::kCampaign);
  EXPECT_FALSE(Leads(b_));
  EXPECT_EQ(etcd_.Get(kLeaderKey).value, "a:1");
}

TEST_F(LeadershipTest, AStandbySucceedsAResignedLeaderAtOnce) {
  Rounds(&a_);
  Rounds(&b_);
  const auto last = a_.Resign(now_);
  ASSERT_TRUE(last.has_value());
  EXPECT_FALSE(Leads(a_));
  CarryOut(*last, &connection_);
  EXPECT_TRUE(Renewal().resigned());
  Rounds(&b_);
  EXPECT_TRUE(Leads(b_));
  EXPECT_FALSE(Renewal().resigned());
}

TEST_F(LeadershipTest, ALeaderResumesAtOnceWhenEtcdReturns) {
  Rounds(&a_);
  Rounds(&b_);
  etcd_.SetFault(Fault::kUnreachable);
  now_ += kTtl - 100 * kMs;
  Rounds(&a_);
  EXPECT_FALSE(Leads(a_));
  etcd_.SetFault(Fault::kNone);
  Rounds(&a_);
  EXPECT_TRUE(Leads(a_));
  now_ += 200 * kMs;
  Rounds(&b_);
  EXPECT_FALSE(Leads(b_));
}

// A store of another history may have that revision, too.
TEST_F(LeadershipTest, ALeaderDoesNotResumeTheLeadershipOfAnother) {
  Rounds(&a_);
  const int64_t revision = etcd_.Get(kLeaderKey).mod_revision;
  etcd_.Empty();
  Rounds(&b_);
  ASSERT_EQ(etcd_.Get(kLeaderKey).mod_revision, revision);
  now_ += 1000 * kMs;
  Rounds(&b_);
  Rounds(&a_);
  EXPECT_FALSE(Leads(a_));
  EXPECT_TRUE(Leads(b_));
}

// Managers of older versions have a key with an etcd lease, and no renewals.
TEST_F(LeadershipTest, AStandbyWaitsForALeaderOfAnOlderVersion) {
  etcd_.Put(kLeaderKey, "old:1");
  Rounds(&a_);
  now_ += 10 * kTtl;
  Rounds(&a_);
  EXPECT_FALSE(Leads(a_));
  etcd_.Delete(kLeaderKey);
  Rounds(&a_);
  EXPECT_TRUE(Leads(a_));
}

// Renewals tell which leases the predecessor granted; if its keys are gone
// nothing is known, and it may even still lead.
TEST_F(LeadershipTest, ANewLeaderKnowsHowLongFormerLeasesRun) {
  RenewalRecord former;
  former.set_leader("z:1");
  former.set_node_lease_ms(20000);
  former.set_resigned(true);
  EXPECT_GE(KeepsMembersFor(former.SerializeAsString()), 20000 * kMs);
  EXPECT_GE(KeepsMembersFor(""), kTtl + 700 * kMs);
  faults::PlantFault("membership-new-leader-drops-at-once");
  EXPECT_LT(KeepsMembersFor(former.SerializeAsString()), 20000 * kMs);
}

// A leader that grants short leases passes on how long earlier ones run.
TEST_F(LeadershipTest, FormerLeasesArePassedOn) {
  RenewalRecord former;
  former.set_leader("z:1");
  former.set_node_lease_ms(20000);
  former.set_resigned(true);
  etcd_.Put(kRenewalKey, former.SerializeAsString());
  Rounds(&a_);
  ASSERT_TRUE(Leads(a_));
  EXPECT_EQ(Renewal().node_lease_ms(), 20000u);
  for (int i = 0; i < 5; ++i) {
    now_ += 1000 * kMs;
    Rounds(&a_, 2);
  }
  EXPECT_EQ(Renewal().node_lease_ms(), 15000u);
  faults::PlantFault("membership-forgets-former-leases");
  now_ += 1000 * kMs;
  Rounds(&a_, 2);
  EXPECT_EQ(Renewal().node_lease_ms(), 700u);
}

// A leader passes the acknowledged position to the next one.
TEST_F(LeadershipTest, ProgressIsStoredWithRenewals) {
  PutView();
  Rounds(&a_);
  const auto acknowledge = [&](ManagerLoop* loop, uint64_t applied) {
    EXPECT_EQ(Beat(loop, "n1", applied), absl::OkStatus());
    EXPECT_EQ(Beat(loop, "n2", applied), absl::OkStatus());
  };
  Beat(&a_, "n2").IgnoreError();  // it waits for n1
  acknowledge(&a_, 70);
  EXPECT_EQ(Renewal().progress().acknowledged(), 0u);
  const int renewals = etcd_.calls("Renew");
  now_ += 1000 * kMs;
  Rounds(&a_, 2);
  EXPECT_EQ(Renewal().progress().acknowledged(), 70u);
  EXPECT_EQ(Renewal().progress().view_id(), 1u);
  EXPECT_EQ(etcd_.calls("Renew"), renewals + 1);  // no write of its own
  // When told to stop, it stores the last one.
  acknowledge(&a_, 80);
  CarryOut(*a_.Resign(now_), &connection_);
  EXPECT_EQ(Renewal().progress().acknowledged(), 80u);
  Rounds(&b_);
  ASSERT_TRUE(Leads(b_));
  EXPECT_EQ(b_.core().old_copies().progress().acknowledged, 80u);
  EXPECT_EQ(Renewal().progress().acknowledged(), 80u);
  Beat(&b_, "n2").IgnoreError();
  acknowledge(&b_, 75);
  now_ += 1000 * kMs;
  Rounds(&b_, 2);
  EXPECT_EQ(Renewal().progress().acknowledged(), 80u);
  faults::PlantFault("membership-resigns-without-progress");
  CarryOut(*b_.Resign(now_), &connection_);
  EXPECT_EQ(Renewal().progress().acknowledged(), 0u);
}

TEST_F(LeadershipTest, NoManagerLeadsWhileEtcdIsFull) {
  Rounds(&a_);
  Rounds(&b_);
  etcd_.SetFault(Fault::kFull);
  now_ += 1000 * kMs;
  Rounds(&a_);
  EXPECT_TRUE(Leads(a_));
  now_ += 1700 * kMs;
  EXPECT_FALSE(Leads(a_));
  now_ += 10 * kTtl;
  Rounds(&a_);
  Rounds(&b_);
  EXPECT_FALSE(Leads(a_));
  EXPECT_FALSE(Leads(b_));
  etcd_.SetFault(Fault::kNone);
  Rounds(&b_);
  EXPECT_TRUE(Leads(b_));
}

// So that renewals do not fill etcd.
TEST_F(LeadershipTest, TheLeaderCompactsHistoryOlderThanAnHour) {
  Rounds(&a_);
  int64_t then = etcd_.Get(kRenewalKey).mod_revision;
  for (int hour = 1; hour <= 3; ++hour) {
    for (int second = 0; second < 3600; ++second) {
      now_ += absl::Seconds(1);
      Rounds(&a_, 3);
    }
    EXPECT_EQ(etcd_.calls("Compact"), hour);
    EXPECT_EQ(etcd_.compacted(), then);
    then = etcd_.Get(kRenewalKey).mod_revision;
  }
  ManagerLoop::Options options = OptionsOf("c:1");
  options.compacts = false;
  ManagerLoop quiet(options);
  CarryOut(*a_.Resign(now_), &connection_);
  for (int second = 0; second < 4000; ++second) {
    now_ += absl::Seconds(1);
    Rounds(&quiet, 3);
  }
  EXPECT_TRUE(Leads(quiet));
  EXPECT_EQ(etcd_.calls("Compact"), 3);
}

// --- Recoveries, and a store that is behind.

class RecoveringTest : public LeadershipTest {
 protected:
  // The manager leads by view 1, and both nodes know view 2; their leases are
  // over.
  void SetUp() override {
    PutView();
    Rounds(&a_);
    ASSERT_TRUE(Leads(a_));
    known_ = a_.core().view();
    const View stored = known_;
    known_.id = 2;
    Succeed(stored, &known_);
    for (int i = 0; i < 50; ++i) {
      now_ += 100 * kMs;
      Rounds(&a_, 2);
      Tell(&a_);
    }
    ASSERT_NE(a_.core().watch().WhyBehind(), "");
  }
  void Tell(ManagerLoop* loop) {
    for (const Member& member : known_.members) {
      kamino::internal::v1::RegisterRequest request;
      kamino::internal::v1::RegisterResponse response;
      request.set_cluster_id("c");
      *request.mutable_member() = ToProto(member);
      *request.mutable_newest_view() = ToProto(known_);
      kamino::v1::NodeReport& report = *request.mutable_report();
      report.set_view_id(known_.id);
      report.set_view_digest(known_.digest);
      report.set_condition(kamino::v1::CONDITION_SOUND);
      EXPECT_FALSE(loop->Register(request, &response, now_).ok());
    }
  }
  uint64_t StoredView() {
    kamino::internal::v1::ViewRecord record;
    EXPECT_TRUE(record.ParseFromString(etcd_.Get(kViewKey).value));
    return record.view_id();
  }

  View known_;
};

TEST_F(RecoveringTest, ARecoveryIsDoneOnceItsViewIsStored) {
  etcd_.SetFault(Fault::kUnreachable, "Replace");
  ASSERT_EQ(a_.Recover(/*force=*/false, now_).status(), absl::OkStatus());
  Rounds(&a_);
  EXPECT_EQ(a_.recovered(), std::nullopt);
  EXPECT_EQ(StoredView(), 1u);
  etcd_.SetFault(Fault::kAnswerLost, "Replace");
  Rounds(&a_);
  EXPECT_EQ(a_.recovered(), std::nullopt);
  etcd_.SetFault(Fault::kNone);
  Rounds(&a_);
  EXPECT_EQ(a_.recovered(), absl::OkStatus());
  EXPECT_EQ(StoredView(), 3u);
}

TEST_F(RecoveringTest, ARecoveryWhoseViewIsNotStoredIsAborted) {
  etcd_.SetFault(Fault::kUnreachable, "Replace");
  ASSERT_EQ(a_.Recover(/*force=*/false, now_).status(), absl::OkStatus());
  Rounds(&a_);
  View other = known_;
  etcd_.Put(kViewKey, ToProto(other).SerializeAsString());
  etcd_.SetFault(Fault::kNone);
  Rounds(&a_);
  ASSERT_TRUE(a_.recovered().has_value());
  EXPECT_TRUE(absl::IsAborted(*a_.recovered())) << *a_.recovered();
  EXPECT_EQ(StoredView(), 2u);
}

TEST_F(RecoveringTest, ARecoveryIsAbortedIfTheLeadershipEnds) {
  etcd_.SetFault(Fault::kUnreachable, "Replace");
  ASSERT_EQ(a_.Recover(/*force=*/false, now_).status(), absl::OkStatus());
  Rounds(&a_);
  etcd_.Delete(kLeaderKey);
  etcd_.Put(kLeaderKey, "b:1");
  etcd_.SetFault(Fault::kNone);
  Rounds(&a_);
  ASSERT_TRUE(a_.recovered().has_value());
  EXPECT_TRUE(absl::IsAborted(*a_.recovered())) << *a_.recovered();
}

TEST_F(RecoveringTest, ARecoveryThatIsDoneTooEarlyIsDetected) {
  faults::PlantFault("membership-recovers-before-it-is-stored");
  etcd_.SetFault(Fault::kUnreachable, "Replace");
  ASSERT_EQ(a_.Recover(/*force=*/false, now_).status(), absl::OkStatus());
  EXPECT_EQ(a_.recovered(), absl::OkStatus());
  EXPECT_EQ(StoredView(), 1u);
  EXPECT_TRUE(faults::PlantedFaultWasMet());
}

// The leadership does not change meanwhile: the nodes' reports stay known.
TEST_F(RecoveringTest, AManagerKeepsLeadingWhileItWaits) {
  const std::string renewed = etcd_.Get(kLeaderKey).value;
  const int campaigns = etcd_.calls("Campaign");
  for (int i = 0; i < 700; ++i) {
    now_ += 100 * kMs;
    Rounds(&a_, 2);
    Tell(&a_);
    EXPECT_TRUE(Leads(a_));
    EXPECT_EQ(a_.core().nodes(now_).size(), 2u);
    EXPECT_EQ(a_.Administer(
                  [](ManagerCore* core, absl::Time now) {
                    return core->recoveries().Plan(now).status();
                  },
                  now_),
              absl::OkStatus());
  }
  EXPECT_EQ(etcd_.calls("Campaign"), campaigns);
}

TEST_F(RecoveringTest, TheLeaderTakesANewerStoredView) {
  etcd_.Put(kViewKey, ToProto(known_).SerializeAsString());
  now_ += 1000 * kMs;
  Rounds(&a_, 8);
  EXPECT_TRUE(Leads(a_));
  EXPECT_EQ(a_.core().view().id, 2u);
  EXPECT_EQ(a_.core().watch().WhyBehind(), "");
}

TEST_F(LeadershipTest, AStoreRestoredBeforeAViewWriteEndsTheLeadership) {
  PutView();
  const Etcd::Value before = etcd_.Get(kViewKey);
  PutView();  // the same again, later
  Rounds(&a_);
  ASSERT_TRUE(Leads(a_));
  const absl::Time begin = now_;
  bool put_back = false;
  for (int i = 0; i < 100 && !put_back; ++i) {
    now_ += 50 * kMs;
    BeatOfN1(&a_, begin);
    ManagerLoop::Step step = a_.Next(now_);
    if (!step.call.has_value()) continue;
    put_back = step.call->kind == Kind::kReplace;
    if (put_back) etcd_.PutBack(kViewKey, before);
    a_.OnAnswer(CarryOut(*step.call, &connection_), now_);
  }
  ASSERT_TRUE(put_back);
  EXPECT_FALSE(Leads(a_));
  EXPECT_EQ(etcd_.Get(kViewKey).mod_revision, before.mod_revision);
  Rounds(&a_);  // begins anew
  EXPECT_TRUE(Leads(a_));
}

// --- Managers that were started with other settings.

TEST_F(LeadershipTest, AManagerReportsSettingsOtherThanTheLeaders) {
  ManagerLoop::Options options = OptionsOf("c:1");
  options.core.chain_length = 3;
  options.core.heartbeat_interval = 50 * kMs;
  ManagerLoop other(options);
  Rounds(&a_);
  ASSERT_TRUE(Leads(a_));
  Rounds(&b_);
  EXPECT_EQ(b_.settings_differ(), "");
  Rounds(&other);
  EXPECT_EQ(other.settings_differ(),
            "the manager at c:1 was started with another --chain_length (3 "
            "here, 2 there) and --heartbeat_interval_ms (50 here, 100 there) "
            "than the one at a:1, which leads: the leader uses its own "
            "flags; start all managers with the same flags");
  CarryOut(*a_.Resign(now_), &connection_);
  Rounds(&other);
  EXPECT_TRUE(Leads(other));
  EXPECT_EQ(other.settings_differ(), "");  // it is for the others to say
  Rounds(&b_);
  EXPECT_TRUE(absl::StrContains(b_.settings_differ(), "than the one at c:1"));
}

}  // namespace
}  // namespace kamino::membership
