// Nodes that report impossible facts about themselves: they are refused and
// named, and nothing changes for the others.
#include "membership/manager/claims.h"

#include <functional>
#include <limits>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "membership/view_history.h"
#include "tests/faults/fault.h"
#include "tests/membership/manager_core_fixture.h"

namespace kamino::membership {
namespace {

constexpr uint64_t kAbsurd = std::numeric_limits<uint64_t>::max();
const std::string kOtherUuid(16, 'u');

class ClaimsTest : public ManagerCoreTest {
 protected:
  // A chain of three in its second view, and n4 beside it.
  void SetUp() override {
    FormChain();
    old_ = core_.view();
    ASSERT_EQ(core_.removals().Exclude("n4", Removal::kNow, now_).code(),
              absl::StatusCode::kNotFound);
    ASSERT_EQ(Register(Node("n4")), absl::OkStatus());
    ASSERT_EQ(core_.removals().Exclude("n4", Removal::kNow, now_),
              absl::OkStatus());
    Pass(kBeat, all_);
    ASSERT_EQ(view().id, 2u);
  }
  void TearDown() override { faults::PlantFault(""); }

  const View& view() const { return core_.view(); }
  NodeReport Sound(uint64_t mutations = 10) const {
    NodeReport report;
    report.view_id = view().id;
    report.view_digest = view().digest;
    report.view_epoch = view().epoch;
    report.member_view = view().id;
    report.cluster_uuid = view().cluster_uuid;
    report.epoch = view().epoch;
    report.condition = Condition::kSound;
    report.cursors = {mutations, mutations, mutations};
    return report;
  }
  absl::Status Says(const std::string& id, const NodeReport& report,
                    uint64_t incarnation = 1) {
    return core_.Heartbeat("c", {id, incarnation, report}, now_);
  }
  absl::Status Comes(const Member& member, const NodeReport& report,
                     const View& newest = {}) {
    return core_.Register("c", member, report, now_, newest);
  }
  // Nodes get leases, and a member's death leads to a new view.
  void ExpectTheOthersContinue() {
    EXPECT_EQ(core_.watch().WhyBehind(), "");
    const uint64_t before = view().id;
    Pass(3 * kTimeout, {all_[0], all_[1]});
    EXPECT_EQ(view().id, before + 1);
    EXPECT_EQ(Names(view()), "n1.1 n2.1 ");
    EXPECT_EQ(Comes(Node("n2", 2), Sound()), absl::OkStatus());
  }
  // A node of another name, such as a stranger or a damaged one, that reports
  // this is refused and named.
  void ExpectRefused(const NodeReport& report, const View& newest = {}) {
    const absl::Status refused = Comes(Node("n5"), report, newest);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_TRUE(
        absl::StrContains(refused.message(), "node n5 sends an invalid report"))
        << refused;
    const auto named = core_.refusals().Lately(now_);
    ASSERT_EQ(named.count("n5"), 1u);
    EXPECT_EQ(named.at("n5").why, refused.message());
    EXPECT_EQ(core_.watch().WhyBehind(), "");
    // Nor is it accepted from a member.
    EXPECT_TRUE(absl::IsNotFound(Says("n3", report)));
    EXPECT_EQ(core_.watch().WhyBehind(), "");
  }
  // Whether a recovery starts from the view that the members know, when a
  // restarted member brings another cluster's.
  bool PlansAsManyAsThereAre() {
    const View later = Later();
    View strange = later;
    strange.cluster_uuid = kOtherUuid;
    strange.id = 40;
    Lead(old_);
    NodeReport restarted = Knows(later);
    restarted.view_id = 0;
    EXPECT_TRUE(absl::IsUnavailable(Comes(Node("n3"), restarted, strange)));
    for (int i = 0; i < 40; ++i) {
      now_ += kBeat;
      for (const Member& member : all_) {
        EXPECT_TRUE(absl::IsUnavailable(Comes(member, Knows(later), later)));
      }
    }
    const auto plan = core_.recoveries().Plan(now_);
    return plan.ok() && plan->complete && plan->view.id == later.id + 1;
  }
  // A view that follows the stored one, as other nodes know it.
  View Later() const {
    View later = view();
    ++later.id;
    Succeed(view(), &later);
    return later;
  }
  NodeReport Knows(const View& known) const {
    NodeReport report = Sound();
    report.view_id = report.member_view = known.id;
    report.view_digest = known.digest;
    report.view_epoch = report.epoch = known.epoch;
    return report;
  }

  View old_;
};

TEST_F(ClaimsTest, AbsurdNumbersChangeNothing) {
  const std::vector<std::function<void(NodeReport*)>> absurd = {
      [](NodeReport* report) { report->view_id = kAbsurd; },
      [](NodeReport* report) { report->member_view = kAbsurd; },
      [](NodeReport* report) {
        report->member_view = kAbsurd;
        report->view_id = 0;
      },
      [](NodeReport* report) { report->epoch = kAbsurd; },
      [](NodeReport* report) { report->view_epoch = kAbsurd; },
      [](NodeReport* report) {
        report->cursors = {kAbsurd, kAbsurd, kAbsurd};
      },
      [](NodeReport* report) { report->cursors.cleaned = kAbsurd; },
      [](NodeReport* report) { report->cursors.received = kAbsurd; },
      // From a damaged process, whose view is an older one.
      [](NodeReport* report) { ++report->member_view; },
      [](NodeReport* report) { ++report->epoch; }};
  for (const auto& change : absurd) {
    NodeReport report = Sound();
    change(&report);
    ExpectRefused(report);
  }
  ExpectTheOthersContinue();
}

TEST_F(ClaimsTest, ALaterViewIsRefusedWithoutEvidence) {
  View later = Later();
  ExpectRefused(Knows(later));
  View damaged = later;
  damaged.members[0].incarnation ^= 64;
  ExpectRefused(Knows(later), damaged);
  NodeReport beyond = Knows(later);
  ++beyond.view_id;
  ExpectRefused(beyond, later);
  View another = later;
  another.members.pop_back();
  Succeed(view(), &another);
  ExpectRefused(Knows(later), another);
  View foreign = later;
  foreign.cluster_uuid = kOtherUuid;
  ExpectRefused(Knows(foreign), foreign);
  ExpectTheOthersContinue();
}

TEST_F(ClaimsTest, ALaterMembershipIsRefusedWithoutAClusterUuid) {
  NodeReport report = Sound();
  report.view_id = 0;
  report.member_view = view().id + 1;
  report.cluster_uuid = "";
  ExpectRefused(report);
  ExpectTheOthersContinue();
}

TEST_F(ClaimsTest, ALaterViewIsBelievedWithEvidence) {
  const View later = Later();
  EXPECT_TRUE(absl::IsUnavailable(Comes(Node("n5"), Knows(later), later)));
  EXPECT_NE(core_.watch().WhyBehind(), "");
}

TEST_F(ClaimsTest, AFormerMemberOfALaterViewIsBelieved) {
  NodeReport report = Sound();
  report.view_id = 0;
  ++report.member_view;
  report.condition = Condition::kReturned;
  EXPECT_TRUE(absl::IsUnavailable(Comes(Node("n5"), report)));
  EXPECT_NE(core_.watch().WhyBehind(), "");
}

// The manager knows nothing of the cluster any more.
TEST_F(ClaimsTest, AnEmptiedStoreBelievesOnlyPossibleViews) {
  const View known = view();
  Lead(View());
  NodeReport absurd = Knows(known);
  absurd.view_id = absurd.member_view = kAbsurd;
  EXPECT_TRUE(absl::IsFailedPrecondition(Comes(Node("n5"), absurd, known)));
  EXPECT_EQ(core_.watch().WhyBehind(), "");
  EXPECT_TRUE(absl::IsUnavailable(Comes(Node("n1"), Knows(known), known)));
  EXPECT_NE(core_.watch().WhyBehind(), "");
}

TEST_F(ClaimsTest, OneMemberAloneDoesNotAdvanceProgress) {
  Pass(kBeat, all_);
  for (const char* id : {"n1", "n2", "n3"}) {
    ASSERT_EQ(Says(id, Sound(10)), absl::OkStatus());
  }
  ASSERT_EQ(core_.old_copies().progress().acknowledged, 10u);
  EXPECT_EQ(Says("n3", Sound(5000)), absl::OkStatus());
  EXPECT_EQ(core_.old_copies().progress().acknowledged, 10u);
  EXPECT_EQ(Says("n2", Sound(12)), absl::OkStatus());
  EXPECT_EQ(core_.old_copies().progress().acknowledged, 12u);
  // The others' reports come later, as heartbeats do.
  EXPECT_EQ(Says("n1", Sound(5000)), absl::OkStatus());
  EXPECT_EQ(core_.old_copies().progress().acknowledged, 5000u);
}

TEST_F(ClaimsTest, AnIncarnationThatLeapsIsRefused) {
  EXPECT_TRUE(absl::IsFailedPrecondition(Comes(Node("n2", kAbsurd), Sound())));
  EXPECT_EQ(Comes(Node("n2", 2), Sound()), absl::OkStatus());
}

TEST_F(ClaimsTest, AnAcceptedNodeIsNoLongerListedAsRefused) {
  NodeReport absurd = Sound();
  absurd.member_view = kAbsurd;
  ExpectRefused(absurd);
  EXPECT_EQ(Comes(Node("n5"), {.condition = Condition::kFresh}),
            absl::OkStatus());
  EXPECT_TRUE(core_.refusals().Lately(now_).empty());
}

TEST_F(ClaimsTest, TheListOfRefusalsIsBounded) {
  NodeReport absurd = Sound();
  absurd.member_view = kAbsurd;
  for (int i = 0; i < 100; ++i) {
    now_ += kMs;
    Member member = Node("x" + std::to_string(i) + "\n");
    EXPECT_FALSE(Comes(member, absurd).ok());
  }
  const auto named = core_.refusals().Lately(now_);
  EXPECT_EQ(named.size(), Refusals::kMost);
  ASSERT_EQ(named.count("x99?"), 1u);
  EXPECT_EQ(named.at("x99?").why.find('\n'), std::string::npos);
  EXPECT_TRUE(core_.refusals().Lately(now_ + 2 * Refusals::kKept).empty());
}

// A node that the chain could not take teaches it nothing, even a later view.
TEST_F(ClaimsTest, AMismatchedNodeWithALaterViewDoesNotStopTheChain) {
  const View later = Later();
  Member other = Node("n5");
  other.heap_bytes *= 2;
  EXPECT_TRUE(absl::IsFailedPrecondition(Comes(other, Knows(later), later)));
  ExpectTheOthersContinue();
}

// But a node that came first proves nothing about a chain that the store lost.
TEST_F(ClaimsTest, SettingsOfANewNodeDoNotHideALaterView) {
  const View known = view();
  Lead(View());
  Member other = Node("n5");
  other.heap_bytes *= 2;
  EXPECT_EQ(Comes(other, {.condition = Condition::kFresh}), absl::OkStatus());
  EXPECT_TRUE(absl::IsUnavailable(Comes(Node("n1"), Knows(known), known)));
  EXPECT_NE(core_.watch().WhyBehind(), "");
}

// Nor do dropped nodes, which an older store names, decide which settings all
// must share.
TEST_F(ClaimsTest, SettingsOfDroppedNodesDoNotHideALaterView) {
  Lead(old_);
  Member changed = Node("n1");
  changed.agreement["ring"] = {2, 2};
  Member before = Node("n3");
  before.agreement["ring"] = {1, 1};
  now_ += 3 * kTimeout;
  EXPECT_EQ(Comes(before, {.condition = Condition::kSound}), absl::OkStatus());
  View later = old_;
  later.id = 2;
  Succeed(old_, &later);
  EXPECT_TRUE(absl::IsUnavailable(Comes(changed, Knows(later), later)));
  EXPECT_NE(core_.watch().WhyBehind(), "");
}

TEST_F(ClaimsTest, ACopyTakesNoPlaceWhileTheStoreIsBehind) {
  Lead(old_);
  View later = old_;
  later.id = 2;
  Succeed(old_, &later);
  EXPECT_TRUE(absl::IsUnavailable(Comes(Node("n1", 5), Knows(later), later)));
  Member copy = Node("n1", 4);
  copy.service_address = "elsewhere:1";
  EXPECT_TRUE(absl::IsAlreadyExists(Comes(copy, Knows(later), later)));
  copy.incarnation = 5;
  EXPECT_TRUE(absl::IsAlreadyExists(Comes(copy, Knows(later), later)));
  for (const auto& known : core_.nodes(now_)) {
    if (known.state.member.node_id != "n1") continue;
    EXPECT_EQ(known.state.member.service_address, "n1:1");
    EXPECT_EQ(known.state.member.incarnation, 5u);
  }
  // A restarted node is heard.
  EXPECT_TRUE(absl::IsUnavailable(Comes(Node("n1", 6), Knows(later), later)));
}

// A node of another cluster, and one that is refused.
TEST_F(ClaimsTest, ReportsOfStrangersAreIgnored) {
  Lead(old_);
  View later = old_;
  later.id = 2;
  Succeed(old_, &later);
  View strange = later;
  strange.cluster_id = "d";
  strange.id = 40;
  Succeed(later, &strange);
  EXPECT_FALSE(
      core_.Register("d", Node("n9"), Knows(strange), now_, strange).ok());
  EXPECT_FALSE(Comes(Node("n9"), Knows(strange), strange).ok());
  for (int i = 0; i < 40; ++i) {
    now_ += kBeat;
    for (const Member& member : all_) {
      EXPECT_TRUE(absl::IsUnavailable(Comes(member, Knows(later), later)));
    }
  }
  const auto plan = core_.recoveries().Plan(now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_TRUE(plan->complete);
  EXPECT_EQ(plan->view.id, 3u);
}

class PlantedClaimsTest : public ClaimsTest {
 protected:
  void TearDown() override {
    EXPECT_TRUE(faults::PlantedFaultWasMet());
    ClaimsTest::TearDown();
  }
};

TEST_F(PlantedClaimsTest, BelievingAbsurdNumbersIsDetected) {
  faults::PlantFault("membership-believes-absurd-numbers");
  // Progress counts only what another member has applied as well.
  const NodeReport absurd = Sound(kAbsurd);
  EXPECT_EQ(Says("n1", absurd), absl::OkStatus());
  EXPECT_EQ(Says("n2", absurd), absl::OkStatus());
  EXPECT_EQ(core_.old_copies().progress().acknowledged, kAbsurd);
}

TEST_F(PlantedClaimsTest, BelievingALaterViewWithoutEvidenceIsDetected) {
  faults::PlantFault("membership-trusts-a-node-without-evidence");
  EXPECT_TRUE(absl::IsUnavailable(Comes(Node("n5"), Knows(Later()))));
  EXPECT_NE(core_.watch().WhyBehind(), "");
}

TEST_F(PlantedClaimsTest, AdvancingProgressByOneReportIsDetected) {
  faults::PlantFault("membership-one-word-is-progress");
  EXPECT_EQ(Says("n3", Sound(5000)), absl::OkStatus());
  EXPECT_EQ(core_.old_copies().progress().acknowledged, 5000u);
}

TEST_F(PlantedClaimsTest, BelievingAMismatchedNodeIsDetected) {
  faults::PlantFault("membership-mismatched-nodes-are-ahead");
  const View later = Later();
  Member other = Node("n5");
  other.heap_bytes *= 2;
  EXPECT_FALSE(Comes(other, Knows(later), later).ok());
  EXPECT_NE(core_.watch().WhyBehind(), "");
}

TEST_F(PlantedClaimsTest, ACopyInANodesPlaceIsDetected) {
  faults::PlantFault("membership-copies-take-places-while-behind");
  Lead(old_);
  View later = old_;
  later.id = 2;
  Succeed(old_, &later);
  EXPECT_TRUE(absl::IsUnavailable(Comes(Node("n1", 5), Knows(later), later)));
  EXPECT_TRUE(absl::IsUnavailable(Comes(Node("n1", 4), Knows(later), later)));
}

// It brings no view of this cluster, but its report of itself is accepted.
TEST_F(ClaimsTest, AMembersViewOfAnotherClusterIsIgnored) {
  EXPECT_TRUE(PlansAsManyAsThereAre());
}

TEST_F(PlantedClaimsTest, LearningAViewOfAnotherClusterIsDetected) {
  faults::PlantFault("membership-learns-from-anyone");
  EXPECT_FALSE(PlansAsManyAsThereAre());
}

}  // namespace
}  // namespace kamino::membership
