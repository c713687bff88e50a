#include "membership/agent/peer_leases.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "membership/agent/agent_core.h"
#include "membership/records.h"
#include "membership/view_history.h"
#include "tests/faults/planted.h"

namespace kamino::membership {
namespace {

using kamino::internal::v1::VouchRequest;

constexpr absl::Duration kMs = absl::Milliseconds(1);
constexpr absl::Duration kPeerLease = absl::Milliseconds(500);

Member Node(int number, uint64_t incarnation = 7) {
  const std::string id = absl::StrCat("n", number);
  return Member{id, incarnation, id + ":1", {{"tcp", id + ":2"}}, 64, "h"};
}

View ViewOf(uint64_t id, const std::vector<Member>& members) {
  View view{"c", id, members};
  Succeed(View{"c", id - 1, {Node(1)}, {}, kOnlyChain, id - 1}, &view);
  return view;
}

class PeerLeasesTest : public testing::Test {
 protected:
  PeerLeasesTest() {
    for (int i = 1; i <= 3; ++i) {
      nodes_.push_back(std::make_unique<PeerLeases>(kPeerLease));
      nodes_.back()->Begin(Node(i), /*was_member=*/false, now_);
      nodes_.back()->SetView(view_);
    }
  }

  PeerLeases& node(int number) { return *nodes_[number - 1]; }
  VouchRequest RequestOf(int number) {
    return node(number).Next(now_).front().request;
  }
  // Node 2's answer to the request.
  absl::Status Asked(const VouchRequest& request,
                     bool manager_answers = false) {
    return node(2).Grant(request, manager_answers, now_);
  }
  // A round of requests of that node, without answers from the silent ones.
  void Ask(int number, const std::vector<int>& silent = {}) {
    for (const PeerLeases::Call& call : node(number).Next(now_)) {
      PeerLeases::Answer answer;
      answer.status = absl::DeadlineExceededError("");
      const int asked = call.node_id.back() - '0';
      if (std::find(silent.begin(), silent.end(), asked) == silent.end()) {
        answer.status = node(asked).Grant(call.request, false, now_);
        answer.response.set_vouch_ms(500);
      }
      node(number).OnAnswer(call, answer);
    }
  }

  absl::Time now_ = absl::FromUnixSeconds(1000);
  const View view_ = ViewOf(3, {Node(1), Node(2), Node(3)});
  std::vector<std::unique_ptr<PeerLeases>> nodes_;
};

TEST_F(PeerLeasesTest, AMemberAsksAllOthers) {
  const auto calls = node(2).Next(now_);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].node_id, "n1");
  EXPECT_EQ(calls[0].address, "n1:1");
  EXPECT_EQ(calls[1].node_id, "n3");
  EXPECT_EQ(calls[0].sent, now_);
  EXPECT_EQ(calls[0].request.node_id(), "n2");
  EXPECT_EQ(calls[0].request.view_id(), 3u);
}

TEST_F(PeerLeasesTest, ANodeOutsideTheViewOrAloneInItAsksNoMember) {
  PeerLeases outside(kPeerLease);
  EXPECT_TRUE(outside.Next(now_).empty());
  outside.Begin(Node(4), false, now_);
  outside.SetView(view_);
  EXPECT_TRUE(outside.Next(now_).empty());
  EXPECT_FALSE(outside.Holds(3, now_));
  // A single member would hold them all.
  PeerLeases alone(kPeerLease);
  alone.Begin(Node(1), false, now_);
  alone.SetView(ViewOf(3, {Node(1)}));
  EXPECT_TRUE(alone.Next(now_).empty());
  EXPECT_FALSE(alone.Holds(3, now_));
}

TEST_F(PeerLeasesTest, APeerLeaseHoldsForNineTenthsFromItsRequest) {
  EXPECT_FALSE(node(1).Holds(3, now_));
  Ask(1);
  EXPECT_TRUE(node(1).Holds(3, now_ + 449 * kMs));
  EXPECT_FALSE(node(1).Holds(3, now_ + 450 * kMs));
  EXPECT_FALSE(node(1).Holds(2, now_));
  EXPECT_FALSE(node(1).Holds(4, now_));
  EXPECT_EQ(node(2).granted_until(), now_ + kPeerLease);
}

// The granting member may be wrong, or of another version.
TEST_F(PeerLeasesTest, APeerLeaseIsNoLongerThanTheConfiguredOne) {
  PeerLeases::Answer answer;
  answer.response.set_vouch_ms(std::numeric_limits<uint32_t>::max());
  for (const auto& call : node(1).Next(now_)) node(1).OnAnswer(call, answer);
  EXPECT_TRUE(node(1).Holds(3, now_ + 449 * kMs));
  EXPECT_FALSE(node(1).Holds(3, now_ + 450 * kMs));
  faults::Planted fault("membership-peer-leases-of-any-length");
  for (const auto& call : node(1).Next(now_)) node(1).OnAnswer(call, answer);
  EXPECT_TRUE(node(1).Holds(3, now_ + 450 * kMs));
}

TEST_F(PeerLeasesTest, AllOtherMembersMustGrantThePeerLease) {
  Ask(1, /*silent=*/{3});
  EXPECT_FALSE(node(1).Holds(3, now_));
  {
    faults::Planted fault("membership-one-peer-lease-is-enough");
    EXPECT_TRUE(node(1).Holds(3, now_));
  }
  now_ += 100 * kMs;
  Ask(1, /*silent=*/{2});
  EXPECT_TRUE(node(1).Holds(3, now_ + 349 * kMs));
  EXPECT_FALSE(node(1).Holds(3, now_ + 350 * kMs));
}

TEST_F(PeerLeasesTest, ANewViewEndsTheHeldPeerLease) {
  Ask(1);
  const auto old = node(1).Next(now_);
  node(1).SetView(ViewOf(4, {Node(1), Node(2)}));
  EXPECT_FALSE(node(1).Holds(3, now_));
  EXPECT_FALSE(node(1).Holds(4, now_));
  // A late answer belongs to the previous view.
  PeerLeases::Answer answer;
  answer.response.set_vouch_ms(500);
  for (const auto& call : old) node(1).OnAnswer(call, answer);
  EXPECT_FALSE(node(1).Holds(4, now_));
}

TEST_F(PeerLeasesTest, GrantsPeerLeasesOnlyToMembersOfItsView) {
  EXPECT_EQ(Asked(RequestOf(1)), absl::OkStatus());
  const absl::Time granted = node(2).granted_until();
  now_ += 100 * kMs;
  std::vector<VouchRequest> wrong(7, RequestOf(1));
  wrong[0].set_view_id(2);
  wrong[1].set_view_id(4);
  wrong[2].set_view_digest(wrong[2].view_digest() + 1);
  wrong[3].set_incarnation(6);
  wrong[4].set_node_id("n4");
  wrong[5].set_cluster_id("d");
  wrong[6].set_chain_id(2);
  for (const VouchRequest& request : wrong) {
    EXPECT_FALSE(Asked(request).ok()) << request.ShortDebugString();
  }
  EXPECT_FALSE(Asked(RequestOf(2)).ok());  // itself
  EXPECT_FALSE(Asked(VouchRequest()).ok());
  EXPECT_EQ(node(2).granted_until(), granted);
}

TEST_F(PeerLeasesTest, NoPeerLeaseIsGrantedInASupersededView) {
  node(2).Supersede();
  EXPECT_TRUE(absl::IsFailedPrecondition(Asked(RequestOf(1))));
  EXPECT_TRUE(node(2).Next(now_).empty());
  node(2).SetView(ViewOf(4, {Node(2), Node(3)}));
  EXPECT_TRUE(absl::IsFailedPrecondition(Asked(RequestOf(1))));
  PeerLeases formed_later(kPeerLease);
  formed_later.Begin(Node(2), false, now_);
  EXPECT_FALSE(formed_later.Grant(RequestOf(1), false, now_).ok());
}

TEST_F(PeerLeasesTest, NoPeerLeaseIsGrantedWhileTheManagerAnswers) {
  EXPECT_TRUE(absl::IsFailedPrecondition(Asked(RequestOf(1), true)));
  EXPECT_EQ(node(2).granted_until(), absl::InfinitePast());
}

// The next view need not wait for a useless peer lease.
TEST_F(PeerLeasesTest, NoPeerLeaseIsGrantedWhileAThirdMemberIsSilent) {
  Ask(2, /*silent=*/{3});
  EXPECT_EQ(Asked(RequestOf(1)), absl::OkStatus());
  Ask(2, /*silent=*/{3});
  EXPECT_TRUE(absl::IsFailedPrecondition(Asked(RequestOf(1))));
  // The silent member itself is there again.
  EXPECT_EQ(Asked(RequestOf(3)), absl::OkStatus());
  // A member that refuses is there as well.
  node(3).Supersede();
  Ask(2);
  EXPECT_EQ(Asked(RequestOf(1)), absl::OkStatus());
}

// --- How a node uses peer leases.

class PeerLeaseAgentTest : public testing::Test {
 protected:
  static AgentCore::Options Options() {
    AgentCore::Options options;
    options.cluster_id = "c";
    options.managers = {"a:1"};
    options.peer_lease_time = kPeerLease;
    return options;
  }
  PeerLeaseAgentTest() { Begin(/*last_view=*/0); }

  void Begin(uint64_t last_view) {
    core_ = std::make_unique<AgentCore>(Options());
    NodeReport report;
    report.member_view = last_view;
    core_->SetReport(report);
    core_->Begin(Node(1), now_);
  }
  // The manager answers with its newest view.
  AgentCore::Effects Beat(const View& view,
                          absl::Duration lease = absl::Milliseconds(700)) {
    const AgentCore::Call call = core_->Next(now_);
    AgentCore::Answer answer;
    const auto lease_ms =
        static_cast<uint32_t>(absl::ToInt64Milliseconds(lease));
    answer.registration.set_chain_id(kOnlyChain);
    answer.registration.set_lease_ms(lease_ms);
    *answer.registration.mutable_view() = ToProto(view);
    answer.registration.set_lease_view_id(view.id);
    answer.heartbeat.set_chain_id(kOnlyChain);
    answer.heartbeat.set_lease_ms(lease_ms);
    *answer.heartbeat.mutable_view() = ToProto(view);
    answer.heartbeat.set_lease_view_id(view.id);
    return core_->OnAnswer(call, answer, now_);
  }
  PeerLeases::Answer AskedBy(int number) {
    VouchRequest request;
    request.set_cluster_id("c");
    request.set_chain_id(kOnlyChain);
    request.set_node_id(Node(number).node_id);
    request.set_incarnation(7);
    request.set_view_id(view_.id);
    request.set_view_digest(view_.digest);
    return core_->lease().GrantPeerLease(request, now_);
  }
  void AllGrant() {
    PeerLeases::Answer answer;
    answer.response.set_vouch_ms(500);
    for (const PeerLeases::Call& call :
         core_->lease().NextPeerLeaseCalls(now_)) {
      core_->lease().OnPeerLease(call, answer);
    }
  }
  // How long in all it may not answer within `time` after the manager's last
  // answer, with a lease of that length, if one member's peer leases come that
  // late and the other's at once.
  absl::Duration WithoutALease(absl::Duration lease, absl::Duration late,
                               absl::Duration time) {
    Begin(0);
    Beat(view_, lease);
    std::multimap<absl::Time, PeerLeases::Call> answers;
    absl::Time next = now_;
    absl::Duration without;
    for (const absl::Time end = now_ + time; now_ < end; now_ += kMs) {
      while (!answers.empty() && answers.begin()->first <= now_) {
        PeerLeases::Answer answer;
        answer.response.set_vouch_ms(500);
        core_->lease().OnPeerLease(answers.begin()->second, answer);
        answers.erase(answers.begin());
      }
      if (now_ >= next) {
        next = now_ + core_->lease().peer_lease_interval();
        for (const PeerLeases::Call& call :
             core_->lease().NextPeerLeaseCalls(now_)) {
          answers.emplace(call.node_id == "n2" ? now_ + late : now_, call);
        }
      }
      if (!core_->lease().Valid(view_.id, now_)) without += kMs;
    }
    return without;
  }

  // The core takes steps of that length for that time.
  void Steps(absl::Duration step, absl::Duration time) {
    for (const absl::Time end = now_ + time; now_ < end; now_ += step) {
      core_->NoteProgress(now_);
    }
    core_->NoteProgress(now_);
  }
  uint32_t ReportedLate() {
    return core_->Next(now_).heartbeat.report().late_ms();
  }

  absl::Time now_ = absl::FromUnixSeconds(1000);
  const View view_ = ViewOf(3, {Node(1), Node(2), Node(3)});
  const View next_ = ViewOf(4, {Node(1), Node(2)});
  std::unique_ptr<AgentCore> core_;
};

TEST_F(PeerLeaseAgentTest, AsksForAndGrantsPeerLeasesAfterHalfItsLease) {
  Beat(view_);
  now_ += 350 * kMs;
  EXPECT_TRUE(core_->lease().NextPeerLeaseCalls(now_).empty());
  EXPECT_FALSE(AskedBy(2).status.ok());
  now_ += kMs;
  EXPECT_EQ(core_->lease().NextPeerLeaseCalls(now_).size(), 2u);
  const PeerLeases::Answer given = AskedBy(2);
  EXPECT_EQ(given.status, absl::OkStatus());
  EXPECT_EQ(given.response.vouch_ms(), 500u);
}

TEST_F(PeerLeaseAgentTest, ContinuesWhileAllMembersGrant) {
  Beat(view_);
  for (int i = 0; i < 100; ++i) {
    now_ += 360 * kMs;
    AllGrant();
    EXPECT_TRUE(core_->lease().Valid(3, now_)) << i;
    EXPECT_FALSE(core_->lease().Valid(2, now_));
  }
  now_ += 450 * kMs;
  EXPECT_FALSE(core_->lease().Valid(3, now_));
  AllGrant();
  EXPECT_TRUE(core_->lease().Valid(3, now_));
  core_->lease().End();
  EXPECT_FALSE(core_->lease().Valid(3, now_));
  EXPECT_TRUE(core_->lease().NextPeerLeaseCalls(now_).empty());
  EXPECT_FALSE(AskedBy(2).status.ok());
}

// It is asked again before it has answered, so that its peer leases overlap.
TEST_F(PeerLeaseAgentTest, ASlowMemberCausesNoGaps) {
  const absl::Duration lease = 700 * kMs;
  EXPECT_EQ(WithoutALease(lease, 240 * kMs, absl::Seconds(10)),
            absl::ZeroDuration());
  // Peer leases of others do not wait for it, nor its own for earlier ones.
  EXPECT_EQ(core_->lease().peer_lease_deadline(), 250 * kMs);
  faults::Planted fault("membership-peer-leases-wait-for-the-slowest");
  EXPECT_GT(WithoutALease(lease, 240 * kMs, absl::Seconds(10)),
            absl::Milliseconds(500));
}

// A manager with a short failure timeout grants short leases.
TEST_F(PeerLeaseAgentTest, HoldsPeerLeasesBeforeItsLeaseIsOver) {
  for (const int lease_ms : {40, 140, 350, 700, 1400, 10000}) {
    const absl::Duration lease = lease_ms * kMs;
    const absl::Duration late = std::min(lease / 4, 240 * kMs);
    EXPECT_EQ(WithoutALease(lease, late, lease + absl::Seconds(2)),
              absl::ZeroDuration())
        << lease;
  }
  // Whatever lease a manager grants.
  Beat(view_, absl::ZeroDuration());
  EXPECT_EQ(core_->lease().peer_lease_interval(), 5 * kMs);
  faults::Planted fault("membership-requests-peer-leases-rarely");
  EXPECT_GT(WithoutALease(40 * kMs, 10 * kMs, absl::Seconds(2)),
            absl::ZeroDuration());
}

TEST_F(PeerLeaseAgentTest, TakesNoNewerViewBeforeItsGrantedPeerLeaseIsOver) {
  for (const bool planted : {false, true}) {
    Begin(0);
    Beat(view_);
    now_ += 400 * kMs;
    ASSERT_EQ(AskedBy(3).status, absl::OkStatus());
    now_ += 499 * kMs;
    if (planted) {
      faults::Planted fault("membership-acts-while-its-peer-lease-is-valid");
      EXPECT_TRUE(Beat(next_).view.has_value());
      continue;
    }
    EXPECT_FALSE(Beat(next_).view.has_value());
    EXPECT_FALSE(core_->lease().Valid(3, now_));  // it knows better
    EXPECT_FALSE(AskedBy(2).status.ok());         // likewise
    now_ += kMs;
    const auto effects = Beat(next_);
    ASSERT_TRUE(effects.view.has_value());
    EXPECT_EQ(effects.view->id, 4u);
    EXPECT_TRUE(core_->lease().Valid(4, now_));
  }
}

// A quarter of a lease of 700 ms is 175 ms.
TEST_F(PeerLeaseAgentTest, ReportsTheTimeThatItsCoreSpendsInLongSteps) {
  Steps(300 * kMs, absl::Seconds(3));  // no manager has said what is long
  Beat(view_);
  EXPECT_EQ(ReportedLate(), 0u);
  Steps(170 * kMs, absl::Seconds(5));
  EXPECT_EQ(ReportedLate(), 0u);
  Steps(200 * kMs, absl::Seconds(4));
  EXPECT_GT(ReportedLate(), 900u);
  EXPECT_LE(ReportedLate(), 1000u);
  Steps(5 * kMs, absl::Seconds(1));
  EXPECT_LT(ReportedLate(), 400u);
  Steps(5 * kMs, absl::Seconds(9));
  EXPECT_EQ(ReportedLate(), 0u);
  // The current step; one alone is not much, however long it takes.
  now_ += absl::Seconds(60);
  EXPECT_EQ(ReportedLate(), 333u);
}

// A core without work ticks every 25 ms, which is no slowness, however short
// leases are.
TEST_F(PeerLeaseAgentTest, TicksOfAnIdleCoreAreNotLongSteps) {
  Beat(view_, 70 * kMs);
  Steps(25 * kMs, absl::Seconds(5));
  Beat(view_, 70 * kMs);
  EXPECT_EQ(ReportedLate(), 0u);
  Steps(60 * kMs, absl::Seconds(4));
  EXPECT_GT(ReportedLate(), 900u);
}

TEST_F(PeerLeaseAgentTest, AReturningNodeWaitsAsIfItHadGrantedAPeerLease) {
  Begin(/*last_view=*/2);
  EXPECT_FALSE(Beat(view_).view.has_value());
  now_ += kPeerLease;
  EXPECT_TRUE(Beat(view_).view.has_value());
  faults::Planted fault("membership-forgets-granted-peer-leases");
  Begin(/*last_view=*/2);
  EXPECT_TRUE(Beat(view_).view.has_value());
}

}  // namespace
}  // namespace kamino::membership
