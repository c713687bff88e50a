// A store that was put back while the only member of the newest view is down:
// the simulated operator does not force a recovery without it.
#include <string>

#include "base/chain_mode.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tests/simulation/cluster.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/final_state.h"

namespace kamino::simulation {
namespace {

constexpr int kMembers = 3;

ClusterOptions Options() {
  ClusterOptions options;
  options.mode = ChainMode::kImages;
  options.nodes = kMembers;
  options.chain_length = kMembers;
  options.managers = 1;
  options.think = absl::Milliseconds(20);
  options.away_limit = absl::Seconds(60);
  return options;
}

// No faults at random.
FaultPlan OperatorAlone() {
  FaultPlan plan;
  plan.interval = absl::Hours(1);
  plan.old_stores = 1;
  plan.restarts = true;
  return plan;
}

class OldStoreTest : public ::testing::TestWithParam<int> {
 protected:
  OldStoreTest()
      : world_(static_cast<uint64_t>(GetParam()), nullptr),
        cluster_(&world_, Options()),
        faults_(&cluster_, OperatorAlone()) {
    FLAGS_minloglevel = google::GLOG_FATAL;
    cluster_.Start();
    Run(absl::Seconds(2));
    CHECK(cluster_.clients().front()->done_first());
  }

  void Run(absl::Duration time) { world_.RunUntil(world_.now() + time); }
  SimNode* Member(size_t index) {
    return cluster_.node(cluster_.StoredView().members.at(index).node_id);
  }
  // A planned stop; the node is away then, or keeps its place as the last one.
  void Stop(SimNode* node) {
    node->StopInOrder(nullptr);
    Run(absl::Seconds(5));
    ASSERT_FALSE(node->up());
  }
  void PutBackStore(const SimEtcd::Copy& copy) {
    cluster_.etcd().Stop();
    cluster_.etcd().PutBack(copy);
    cluster_.etcd().Start();
  }

  World world_;
  Cluster cluster_;
  Faults faults_;
};

TEST_P(OldStoreTest, TheOperatorForcesNoRecoveryWithoutTheLastMember) {
  SimNode* const last = Member(0);
  SimNode* const middle = Member(1);
  SimNode* const tail = Member(2);
  const SimEtcd::Copy old = cluster_.etcd().TakeCopy();
  Stop(tail);
  Stop(middle);  // it knows a later view than that copy
  ASSERT_EQ(cluster_.StoredView().members.size(), 1u);
  const uint64_t before = cluster_.log().size();
  Run(absl::Seconds(1));
  ASSERT_GT(cluster_.log().size(), before);
  Stop(last);

  PutBackStore(old);
  faults_.Start();
  middle->Start();
  tail->Start();
  Run(absl::Seconds(20));
  EXPECT_EQ(cluster_.StoredView().epoch, 1u);

  last->Start();
  Run(absl::Seconds(20));
  faults_.Stop();
  cluster_.StopClients();
  Run(absl::Seconds(5));
  EXPECT_EQ(cluster_.StoredView().members.size(), size_t{kMembers});
  EXPECT_TRUE(world_.violation().ok()) << world_.violation();
  EXPECT_TRUE(cluster_.ClientsAreIdle());
  const absl::Status rest = CheckAtRest(&cluster_);
  EXPECT_TRUE(rest.ok()) << rest;
}

INSTANTIATE_TEST_SUITE_P(Seeds, OldStoreTest, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace kamino::simulation
