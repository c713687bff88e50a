// Answers to operators about a cluster.
#include "membership/manager/admin_service.h"

#include "tests/faults/fault.h"
#include "tests/membership/manager_core_fixture.h"

namespace kamino::membership {
namespace {

using kamino::v1::ClusterNode;
using kamino::v1::GetClusterResponse;

class AdminServiceTest : public ManagerCoreTest {
 protected:
  GetClusterResponse Cluster() const {
    GetClusterResponse cluster;
    Describe(core_, now_, &cluster);
    return cluster;
  }

  // All nodes end; n2 is started again.
  void ComeBackAlone() {
    FormChain();
    Pass(kTimeout * 2, {});
    ASSERT_EQ(Register(Node("n2", 2), Condition::kReturned), absl::OkStatus());
  }

  // n4 is to take the place of n3.
  void BeginToDrain() {
    FormChain();
    ASSERT_EQ(Register(Node("n4")), absl::OkStatus());
    ASSERT_EQ(core_.removals().Exclude("n3", Removal::kDrain, now_),
              absl::OkStatus());
    Pass(kBeat, all_);
  }
  void EndDraining() {
    ASSERT_EQ(Beat("n4", 1, Condition::kBehind, core_.view().id),
              absl::OkStatus());
    Pass(kBeat, {all_[0], all_[1]});
    Pass(kTimeout * 2, {all_[0], all_[1], Node("n4")});
    ASSERT_EQ(Names(core_.view()), "n1.1 n2.1 n4.1 ");
  }
};

TEST_F(AdminServiceTest, TheClusterReportsTheNodesMissingForItsFirstView) {
  EXPECT_EQ(Cluster().nodes_missing(), 3u);
  ASSERT_EQ(Register(Node("n1")), absl::OkStatus());
  ASSERT_EQ(Register(Node("n2")), absl::OkStatus());
  EXPECT_EQ(Cluster().nodes_missing(), 1u);
  now_ += kTimeout * 2;  // the dead do not count
  EXPECT_EQ(Cluster().nodes_missing(), 3u);
  FormChain();
  EXPECT_EQ(Cluster().nodes_missing(), 0u);
  EXPECT_EQ(Cluster().view_id(), 1u);
}

TEST_F(AdminServiceTest, AnAwayNodeIsListedWithItsTimes) {
  FormChain();
  Pass(kBeat, all_);
  NodeReport report{core_.view().id, Condition::kSound};
  report.stopping = Stopping::kSurrendered;
  ASSERT_EQ(core_.Heartbeat("c", {"n1", 1, report}, now_), absl::OkStatus());
  Pass(kBeat, {all_[1], all_[2]});
  ASSERT_EQ(Names(core_.view()), "n2.1 n3.1 ");
  Pass(absl::Minutes(1), {all_[1], all_[2]});
  // Also by a manager that knows nothing else about it.
  for (int i = 0; i < 2; ++i) {
    const GetClusterResponse cluster = Cluster();
    ASSERT_EQ(cluster.nodes_size(), 3);
    const ClusterNode& away = cluster.nodes(2);
    EXPECT_EQ(away.member().node_id(), "n1");
    EXPECT_EQ(away.member().role(), kamino::v1::ROLE_OUTSIDE);
    EXPECT_TRUE(away.away());
    EXPECT_FALSE(away.alive());
    EXPECT_EQ(away.away_ms(), 60'000u);
    EXPECT_EQ(away.away_left_ms(), 240'000u);
    EXPECT_FALSE(cluster.nodes(0).away());
    const auto times = core_.places().away_times(now_);
    Lead(View(core_.view()));
    core_.places().NoteAway(times, now_);
  }
  HearMembers();
  // It counts as gone after that.
  Pass(absl::Minutes(4), {all_[1], all_[2]});
  EXPECT_EQ(Cluster().nodes_size(), 2);
}

TEST_F(AdminServiceTest, AMemberThatReturnsAloneIsListedOnce) {
  ComeBackAlone();
  const GetClusterResponse cluster = Cluster();
  ASSERT_EQ(cluster.nodes_size(), 3);
  const ClusterNode& back = cluster.nodes(1);
  EXPECT_EQ(back.member().node_id(), "n2");
  EXPECT_EQ(back.member().role(), kamino::v1::ROLE_MIDDLE);
  EXPECT_EQ(back.member().instance().incarnation(), 2u);
  EXPECT_TRUE(back.alive());
  EXPECT_EQ(back.report().condition(), kamino::v1::CONDITION_RETURNED);
  EXPECT_EQ(cluster.waiting_for_size(), 2);
}

// As docs/operate/operations.md says.
TEST_F(AdminServiceTest, AnUnheardMemberIsSilentSinceTheManagerLeads) {
  FormChain();
  Pass(kBeat, all_);
  EXPECT_EQ(Cluster().nodes(0).report().view_id(), 1u);
  Pass(kTimeout / 2, {});
  Lead(core_.view());
  now_ += 300 * kMs;
  const GetClusterResponse cluster = Cluster();
  ASSERT_EQ(cluster.nodes_size(), 3);
  for (const ClusterNode& node : cluster.nodes()) {
    EXPECT_EQ(node.silent_ms(), 300u);
    EXPECT_TRUE(node.alive());
    EXPECT_EQ(node.report().view_id(), 0u);
    EXPECT_EQ(node.report().condition(), kamino::v1::CONDITION_UNSPECIFIED);
  }
}

TEST_F(AdminServiceTest, ARefusedDrainNamesTheReason) {
  FormChain();
  const absl::Status refused =
      core_.removals().Exclude("n1", Removal::kDrain, now_);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(refused.message(),
            "n1 cannot leave yet: there is no spare to take its place, and "
            "without n1 a chain of 3 (--chain_length) lacks 1; start another "
            "node first, or remove n1 now, which leaves the chain shorter: "
            "kamino admin remove n1");
}

TEST_F(AdminServiceTest, ADrainedNodeIsListedAsRemovedOnceItIsOutside) {
  BeginToDrain();
  EXPECT_TRUE(Cluster().nodes(2).draining());
  EXPECT_FALSE(Cluster().nodes(2).removed());
  EndDraining();
  const GetClusterResponse cluster = Cluster();
  ASSERT_EQ(cluster.nodes_size(), 4);
  const ClusterNode& out = cluster.nodes(3);
  EXPECT_EQ(out.member().node_id(), "n3");
  EXPECT_EQ(out.member().role(), kamino::v1::ROLE_OUTSIDE);
  EXPECT_FALSE(out.draining());
  EXPECT_TRUE(out.removed());
}

TEST_F(AdminServiceTest, ANodeThatIsListedTwiceIsDetected) {
  faults::PlantFault("admin-lists-a-restarted-node-twice");
  ComeBackAlone();
  EXPECT_EQ(Cluster().nodes_size(), 4);
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

TEST_F(AdminServiceTest, ADrainWithoutEndIsDetected) {
  faults::PlantFault("admin-drains-for-ever");
  BeginToDrain();
  EndDraining();
  EXPECT_TRUE(Cluster().nodes(3).draining());
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

TEST_F(AdminServiceTest, ARefusedNodeIsListedWithTheReason) {
  FormChain();
  Member other = Node("n4");
  other.heap_bytes *= 2;
  const absl::Status refused = Register(other);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  now_ += 300 * kMs;
  ASSERT_EQ(Cluster().refused_size(), 1);
  EXPECT_EQ(Cluster().refused(0).node_id(), "n4");
  EXPECT_EQ(Cluster().refused(0).why(), refused.message());
  EXPECT_EQ(Cluster().refused(0).ms_ago(), 300u);
  EXPECT_EQ(Register(Node("n4")), absl::OkStatus());
  EXPECT_EQ(Cluster().refused_size(), 0);
}

TEST_F(AdminServiceTest, RestartsOfNodesOutsideTheViewAreReported) {
  FormChain();
  NodeReport report{.condition = Condition::kFresh};
  report.restarts = 4;
  ASSERT_EQ(core_.Register("c", Node("n4", 5), report, now_), absl::OkStatus());
  now_ += kTimeout * 2;  // it has died again, or waits
  ASSERT_EQ(Cluster().nodes_size(), 4);
  EXPECT_EQ(Cluster().nodes(3).member().node_id(), "n4");
  EXPECT_FALSE(Cluster().nodes(3).alive());
  EXPECT_EQ(Cluster().nodes(3).report().restarts(), 4u);
}

}  // namespace
}  // namespace kamino::membership
