#include "client/cli/cluster_text.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace kamino::client {
namespace {

using kamino::v1::ClusterNode;
using kamino::v1::GetClusterResponse;
using kamino::v1::GetManagerResponse;

// A cluster in view 5, which should have three nodes.
class ClusterTextTest : public ::testing::Test {
 protected:
  ClusterTextTest() {
    cluster_.set_view_id(5);
    cluster_.set_chain_length(3);
  }

  ClusterNode* Add(const std::string& id, kamino::v1::Role role,
                   kamino::v1::Condition condition, bool alive = true) {
    ClusterNode* node = cluster_.add_nodes();
    node->mutable_member()->set_node_id(id);
    node->mutable_member()->set_role(role);
    node->mutable_report()->set_condition(condition);
    node->set_alive(alive);
    return node;
  }
  void AddTwo() {
    Add("n1", kamino::v1::ROLE_HEAD, kamino::v1::CONDITION_SOUND);
    Add("n2", kamino::v1::ROLE_TAIL, kamino::v1::CONDITION_SOUND);
  }

  GetClusterResponse cluster_;
};

TEST_F(ClusterTextTest, ACompleteChainHasNoRemarks) {
  AddTwo();
  Add("n3", kamino::v1::ROLE_TAIL, kamino::v1::CONDITION_SOUND);
  EXPECT_EQ(Remarks(cluster_), "");
}

TEST_F(ClusterTextTest, AShortChainIsReported) {
  AddTwo();
  Add("n3", kamino::v1::ROLE_OUTSIDE, kamino::v1::CONDITION_SOUND);
  EXPECT_EQ(Remarks(cluster_), "the chain has 2 of 3 nodes\n");
}

// Each member by itself is sound.
TEST_F(ClusterTextTest, BrokenLinksAreReported) {
  AddTwo();
  Add("n3", kamino::v1::ROLE_TAIL, kamino::v1::CONDITION_SOUND);
  ClusterNode* const head = cluster_.mutable_nodes(0);
  head->mutable_report()->set_append_debt_ms(2900);
  EXPECT_EQ(Remarks(cluster_), "");
  head->mutable_report()->set_append_debt_ms(12000);
  EXPECT_EQ(RemarkOn(*head), "no answer from its successor for 12s");
  EXPECT_EQ(Remarks(cluster_),
            "the chain commits nothing: n1 has had no answer from n2 for 12s; "
            "their logs say why the links between them fail\n");
  cluster_.mutable_nodes(1)->mutable_report()->set_append_debt_ms(4001);
  EXPECT_EQ(Remarks(cluster_),
            "the chain commits nothing: n1 has had no answer from n2 for 12s, "
            "n2 has had no answer from n3 for 5s; their logs say why the links "
            "between them fail\n");
  head->set_alive(false);
  EXPECT_EQ(RemarkOn(*head), "");
}

TEST_F(ClusterTextTest, SparesAreLiveNodesThatAWholeChainDoesNotNeed) {
  AddTwo();
  Add("n3", kamino::v1::ROLE_OUTSIDE, kamino::v1::CONDITION_SOUND);
  EXPECT_TRUE(SparesOf(cluster_).empty()) << "it is to join";
  cluster_.set_chain_length(2);
  EXPECT_EQ(SparesOf(cluster_), std::vector<std::string>{"n3"});
  Add("n4", kamino::v1::ROLE_OUTSIDE, kamino::v1::CONDITION_SOUND, false);
  Add("n5", kamino::v1::ROLE_OUTSIDE, kamino::v1::CONDITION_SOUND)
      ->set_removed(true);
  Add("n6", kamino::v1::ROLE_OUTSIDE, kamino::v1::CONDITION_SOUND)
      ->set_kept_out_ms(9000);
  Add("n7", kamino::v1::ROLE_OUTSIDE, kamino::v1::CONDITION_FRESH);
  EXPECT_EQ(SparesOf(cluster_), (std::vector<std::string>{"n3", "n7"}));
  ClusterNode* const busy =
      Add("n8", kamino::v1::ROLE_OUTSIDE, kamino::v1::CONDITION_SOUND);
  const auto spare = [&] { return SparesOf(cluster_).size() == 3; };
  EXPECT_TRUE(spare());
  for (void (ClusterNode::*set)(bool) :
       {&ClusterNode::set_draining, &ClusterNode::set_suspect,
        &ClusterNode::set_joining}) {
    (busy->*set)(true);
    EXPECT_FALSE(spare());
    (busy->*set)(false);
  }
  // A node cannot take a place that is kept for another.
  busy->set_alive(false);
  busy->set_away(true);
  cluster_.set_chain_length(3);
  EXPECT_EQ(SparesOf(cluster_), (std::vector<std::string>{"n3", "n7"}));
  busy->set_away(false);
  EXPECT_TRUE(SparesOf(cluster_).empty()) << "one is to join";
  cluster_.set_view_id(0);
  EXPECT_TRUE(SparesOf(cluster_).empty()) << "there is no chain";
}

TEST_F(ClusterTextTest, AChainTooShortForItsModeIsReported) {
  AddTwo();
  cluster_.set_chain_length(2);
  for (const auto mode :
       {kamino::v1::CHAIN_MODE_TRADITIONAL, kamino::v1::CHAIN_MODE_IMAGES,
        kamino::v1::CHAIN_MODE_UNSPECIFIED}) {
    cluster_.set_chain_mode(mode);
    EXPECT_EQ(Remarks(cluster_), "");
  }
  cluster_.set_chain_mode(kamino::v1::CHAIN_MODE_KAMINO);
  EXPECT_EQ(Remarks(cluster_),
            "in mode kamino a chain of 2 (--chain_length) does not survive "
            "every failure of a node; use at least 3: after a power cut it "
            "continues only once all of its nodes are back\n");
  cluster_.set_chain_length(1);
  cluster_.set_chain_mode(kamino::v1::CHAIN_MODE_IMAGES);
  EXPECT_EQ(Remarks(cluster_),
            "in mode images a chain of 1 (--chain_length) does not survive "
            "every failure of a node; use at least 2: no other node has a "
            "copy of the data\n");
}

TEST_F(ClusterTextTest, AFormerLeadersLeaseIsReportedWithItsDuration) {
  AddTwo();
  ClusterNode* node = cluster_.mutable_nodes(1);
  node->set_former_lease_ms(162001);
  EXPECT_EQ(RemarkOn(*node), "may hold a former leader's lease for 2m43s");
}

TEST_F(ClusterTextTest, AnAwayNodeIsReportedWithItsDuration) {
  AddTwo();
  ClusterNode* away = Add("n3", kamino::v1::ROLE_OUTSIDE,
                          kamino::v1::CONDITION_SOUND, /*alive=*/false);
  away->set_away(true);
  away->set_away_ms(12000);
  away->set_away_left_ms(287001);
  EXPECT_EQ(RemarkOn(*away), "away for 12s; its place is kept for 4m48s");
  EXPECT_EQ(Remarks(cluster_), "the chain has 2 of 3 nodes\n");
  // Where more stopped than may be lost, it is still a member.
  ClusterNode* kept = cluster_.mutable_nodes(1);
  kept->set_alive(false);
  kept->set_away(true);
  cluster_.add_waiting_for("n2");
  EXPECT_EQ(
      Remarks(cluster_),
      "more members were stopped than the chain may lose: the manager "
      "removes none, and the chain waits until n2 is started again; to go "
      "on without it: kamino admin remove --force n2\n"
      "the chain waits for n2\n"
      "the chain has 2 of 3 nodes\n");
  cluster_.mutable_nodes(0)->set_away(true);
  // The manager would refuse to remove one: no other member runs.
  EXPECT_NE(Remarks(cluster_).find(
                "waits until enough of n1, n2 are started again\n"),
            std::string::npos);
}

TEST_F(ClusterTextTest, ALiveNodeIsWaitedForBecauseOfItsData) {
  cluster_.set_chain_length(2);
  AddTwo();
  cluster_.mutable_nodes(0)->mutable_report()->set_condition(
      kamino::v1::CONDITION_FRESH);
  cluster_.add_waiting_for("n1");
  EXPECT_EQ(Remarks(cluster_), "the chain waits for the data of n1\n");
  cluster_.mutable_nodes(0)->set_alive(false);
  EXPECT_EQ(Remarks(cluster_), "the chain waits for n1\n");
  cluster_.mutable_nodes(0)->set_alive(true);
  cluster_.add_waiting_for("n2");
  EXPECT_EQ(Remarks(cluster_), "the chain waits for the data of n1 or n2\n");
}

TEST_F(ClusterTextTest, ATailReportsTheProgressOfItsTransfer) {
  ClusterNode* tail =
      Add("n2", kamino::v1::ROLE_TAIL, kamino::v1::CONDITION_SOUND);
  tail->mutable_report()->set_transfer_pass(5);
  tail->mutable_report()->set_transfer_bytes_left((18u << 20) + 5000);
  EXPECT_EQ(RemarkOn(*tail), "sends its heap: pass 5, 18 MiB left");
  tail->mutable_report()->set_transfer_pages(5243);
  EXPECT_EQ(RemarkOn(*tail), "sends changed pages: 634 of 5243 pages");
  tail->mutable_report()->set_transfer_pages(100);  // others have since
  EXPECT_EQ(RemarkOn(*tail), "sends changed pages: 0 of 4609 pages");
  tail->mutable_report()->set_transfer_pages(0);
  tail->set_draining(true);
  EXPECT_EQ(RemarkOn(*tail), "draining; sends its heap: pass 5, 18 MiB left");
  tail->set_draining(false);
  tail->set_alive(false);
  EXPECT_EQ(RemarkOn(*tail), "");
}

TEST_F(ClusterTextTest, BeforeTheFirstViewTheFreshNodesAreCounted) {
  cluster_.set_view_id(0);
  Add("n1", kamino::v1::ROLE_OUTSIDE, kamino::v1::CONDITION_FRESH);
  cluster_.set_nodes_missing(2);
  EXPECT_EQ(Remarks(cluster_),
            "the chain forms once 3 fresh nodes of one heap size are there: 1 "
            "of 3 are\n");
}

TEST_F(ClusterTextTest, MixedAndUnfinalizedReleasesAreReported) {
  Add("n1", kamino::v1::ROLE_HEAD, kamino::v1::CONDITION_SOUND);
  Add("n2", kamino::v1::ROLE_MIDDLE, kamino::v1::CONDITION_SOUND);
  Add("n3", kamino::v1::ROLE_TAIL, kamino::v1::CONDITION_SOUND);
  for (auto& node : *cluster_.mutable_nodes()) {
    node.mutable_report()->set_release("0.2.0");
  }
  EXPECT_EQ(Remarks(cluster_), "");
  cluster_.mutable_nodes(0)->mutable_report()->set_release("0.1.0");
  EXPECT_EQ(Remarks(cluster_),
            "nodes run several releases: 0.1.0 (n1), 0.2.0 (n2, n3)\n");
  // A manager that has just begun to lead does not know some nodes yet.
  auto* silent = cluster_.mutable_nodes(0)->mutable_report();
  silent->clear_release();
  silent->set_condition(kamino::v1::CONDITION_UNSPECIFIED);
  EXPECT_EQ(Remarks(cluster_), "");
  silent->set_condition(kamino::v1::CONDITION_SOUND);
  cluster_.mutable_nodes(0)->mutable_report()->set_release("0.2.0");
  kamino::v1::Rise* rise = cluster_.add_not_finalized();
  rise->set_name("procedure p");
  rise->set_to(1);
  rise = cluster_.add_not_finalized();
  rise->set_name("log entry format");
  rise->set_from(3);
  rise->set_to(4);
  rise = cluster_.add_not_finalized();
  rise->set_name("procedure q");
  rise->set_from(1);
  EXPECT_EQ(Remarks(cluster_),
            "not in force until kamino admin finalize: procedure p, log entry "
            "format 4 instead of 3, the withdrawal of procedure q\n");
}

// Fresh nodes would not help, and an operator might start some.
TEST_F(ClusterTextTest, AStoreThatIsBehindIsTheOnlyRemark) {
  cluster_.set_view_id(0);
  cluster_.set_nodes_missing(3);
  cluster_.set_store_behind("the views are not the newest");
  EXPECT_EQ(Remarks(cluster_), "the views are not the newest\n");
}

TEST_F(ClusterTextTest, AMemberThatIsSlowForMuchOfASecondIsNamed) {
  AddTwo();
  ClusterNode* slow = cluster_.mutable_nodes(0);
  slow->mutable_report()->set_late_ms(299);
  EXPECT_EQ(RemarkOn(*slow), "");
  slow->mutable_report()->set_late_ms(300);
  EXPECT_EQ(RemarkOn(*slow),
            "slow: in long steps for 300 ms of the last second");
  slow->set_alive(false);
  EXPECT_EQ(RemarkOn(*slow), "");
}

TEST_F(ClusterTextTest, TheStrongestRemarkOnANodeWins) {
  AddTwo();
  ClusterNode* node = cluster_.mutable_nodes(0);
  node->mutable_report()->set_late_ms(1000);
  node->set_joining(true);
  EXPECT_EQ(RemarkOn(*node), "joining");
  node->set_kept_out_ms(1001);
  EXPECT_EQ(RemarkOn(*node), "kept out 2 s");
  node->set_suspect(true);
  EXPECT_EQ(RemarkOn(*node), "suspect");
  node->set_draining(true);
  EXPECT_EQ(RemarkOn(*node), "draining");
  node->set_removed(true);
  EXPECT_EQ(RemarkOn(*node), "removed");
}

TEST_F(ClusterTextTest, ARefusedNodeIsNamed) {
  cluster_.set_chain_length(2);
  AddTwo();
  kamino::v1::RefusedNode* refused = cluster_.add_refused();
  refused->set_node_id("n9");
  refused->set_why("heaps of one chain are equal");
  refused->set_ms_ago(7300);
  EXPECT_EQ(Remarks(cluster_),
            "node n9 was refused 7 s ago: heaps of one chain are equal\n");
}

TEST_F(ClusterTextTest, ManagersWithOtherSettingsAreNamed) {
  cluster_.set_chain_length(2);
  cluster_.set_cluster_id("c");
  AddTwo();
  std::vector<GetManagerResponse> managers(4);
  for (GetManagerResponse& manager : managers) manager.set_cluster_id("c");
  managers[0].set_leads(true);
  managers[1].set_settings_differ("the manager at b:1 has another length");
  managers[2].set_manager("d:1");
  managers[2].set_cluster_id("d");
  NoteHowManagersDiffer(managers, &cluster_);
  EXPECT_EQ(Remarks(cluster_),
            "the manager at b:1 has another length\n"
            "the manager at d:1 is one of cluster d, not of c\n");
}

}  // namespace
}  // namespace kamino::client
