// Which nodes get leases from a manager that has just begun to lead.
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/faults/fault.h"
#include "tests/membership/manager_core_fixture.h"

namespace kamino::membership {
namespace {

class FirstLeasesTest : public ManagerCoreTest {
 protected:
  void SetUp() override { FormChain(); }
  void TearDown() override { faults::PlantFault(""); }

  // A report of a process that acts in that view.
  absl::Status Tell(const std::string& id, const View& knows) {
    NodeReport report;
    report.view_id = report.member_view = knows.id;
    report.view_digest = knows.digest;
    report.cluster_uuid = knows.cluster_uuid;
    report.condition = Condition::kSound;
    return core_.Register("c", Node(id), report, now_, knows);
  }
  static void ExpectWaits(const absl::Status& answer, const std::string& node) {
    EXPECT_TRUE(absl::IsUnavailable(answer)) << answer;
    EXPECT_TRUE(
        absl::StrContains(answer.message(), "waits to hear from node " + node))
        << answer;
  }

  // The chain continues from view 2, of n2 and n3, to view 4, of n3 and n1,
  // while n2 is stopped; then etcd is put back, and another manager begins to
  // lead.
  void LeadByAnOlderStore() {
    Pass(2 * kTimeout, {all_[1], all_[2]});
    older_ = core_.view();
    ASSERT_EQ(Names(older_), "n2.1 n3.1 ");
    Pass(2 * kTimeout, {all_[2]});
    ASSERT_EQ(Names(core_.view()), "n3.1 ");
    ASSERT_EQ(Register(all_[0], Condition::kBehind), absl::OkStatus());
    ASSERT_EQ(Beat("n1", 1, Condition::kBehind, 3), absl::OkStatus());
    Pass(kBeat, {all_[2]});
    newest_ = core_.view();
    ASSERT_EQ(newest_.id, 4u);
    ASSERT_EQ(Names(newest_), "n3.1 n1.1 ");
    Lead(older_);
  }

  View older_;
  View newest_;
};

TEST_F(FirstLeasesTest, ADroppedNodeGetsNoLeaseFromAnOlderStore) {
  LeadByAnOlderStore();
  ExpectWaits(Beat("n2"), "n3");
  ExpectWaits(Tell("n2", older_), "n3");
  now_ += kBeat;
  // The report shows that the store is behind: the manager grants no lease.
  EXPECT_TRUE(absl::IsUnavailable(Tell("n3", newest_)));
  EXPECT_TRUE(absl::StrContains(core_.watch().WhyBehind(), "n3 knows view 4"));
  for (int i = 0; i < 30; ++i) {
    now_ += kBeat;
    EXPECT_FALSE(Beat("n2").ok());
    EXPECT_FALSE(Tell("n2", older_).ok());
  }
}

TEST_F(FirstLeasesTest, ADroppedNodeGetsNoLeaseOnceANewerMemberReports) {
  LeadByAnOlderStore();
  ExpectWaits(Beat("n2"), "n3");
  EXPECT_TRUE(absl::IsUnavailable(Tell("n1", newest_)));
  EXPECT_TRUE(absl::StrContains(core_.watch().WhyBehind(), "n1 knows view 4"));
  EXPECT_FALSE(Beat("n2").ok());
}

TEST_F(FirstLeasesTest, AManagerThatGrantsLeasesAtOnceIsDetected) {
  faults::PlantFault("membership-leases-before-others-are-heard");
  LeadByAnOlderStore();
  EXPECT_EQ(Beat("n2"), absl::OkStatus());
  EXPECT_TRUE(faults::PlantedFaultWasMet());
}

TEST_F(FirstLeasesTest, LeasesAreGrantedOnceAllMembersWereHeard) {
  Lead(core_.view());
  ExpectWaits(Beat("n1"), "n2");
  ExpectWaits(Beat("n1"), "n2");  // its own word alone does not do
  ExpectWaits(Tell("n2", core_.view()), "n3");
  EXPECT_EQ(Beat("n3"), absl::OkStatus());
  EXPECT_EQ(Beat("n1"), absl::OkStatus());
  EXPECT_EQ(Beat("n2"), absl::OkStatus());
  // From then on a silent node delays no lease.
  now_ += kBeat;
  EXPECT_EQ(Beat("n1"), absl::OkStatus());
}

// Its ring tells in which view it was a member last.
TEST_F(FirstLeasesTest, ARestartedMemberCountsAsHeard) {
  Lead(core_.view());
  ExpectWaits(Beat("n1"), "n2");
  ExpectWaits(Beat("n3"), "n2");
  EXPECT_EQ(Register(Node("n2", 2), Condition::kReturned), absl::OkStatus());
  EXPECT_EQ(Beat("n1"), absl::OkStatus());
  EXPECT_EQ(Beat("n3"), absl::OkStatus());
}

TEST_F(FirstLeasesTest, LeasesWaitAFailureTimeoutForASilentMember) {
  Lead(core_.view());
  Pass(kTimeout - kMs, {all_[0], all_[1]}, Condition::kSound,
       absl::StatusCode::kUnavailable);
  // A waiting node is heard, and so stays.
  now_ += kMs;
  EXPECT_EQ(Beat("n1"), absl::OkStatus());
  EXPECT_EQ(Beat("n2"), absl::OkStatus());
  Pass(kBeat, {all_[0], all_[1]});
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.1 ");
}

// Reports to another leader, or to an earlier leadership of this one, do not
// count.
TEST_F(FirstLeasesTest, EachLeadershipHearsTheMembersAnew) {
  Lead(core_.view());
  HearMembers();
  EXPECT_EQ(Beat("n1"), absl::OkStatus());
  core_.LoseLeadership();
  Lead(core_.view());
  ExpectWaits(Beat("n1"), "n2");
}

TEST_F(FirstLeasesTest, ASingleMemberGetsItsLeaseAtOnce) {
  Pass(2 * kTimeout, {all_[1], all_[2]});
  Pass(2 * kTimeout, {all_[2]});
  ASSERT_EQ(Names(core_.view()), "n3.1 ");
  Lead(core_.view());
  EXPECT_EQ(Beat("n3"), absl::OkStatus());
}

TEST_F(FirstLeasesTest, NodesOutsideTheViewDoNotWait) {
  Lead(core_.view());
  EXPECT_EQ(Register(Node("n4")), absl::OkStatus());
  EXPECT_EQ(Beat("n4", 1, Condition::kFresh), absl::OkStatus());
  // Nor is any node where there is no view yet.
  Lead(View());
  EXPECT_EQ(Register(Node("n4")), absl::OkStatus());
  EXPECT_EQ(Beat("n4", 1, Condition::kFresh), absl::OkStatus());
}

}  // namespace
}  // namespace kamino::membership
