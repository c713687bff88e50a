// The nodes that a call's attempts go to.
#include "client/call_route.h"

#include <string>
#include <vector>

#include "client/directory.h"
#include "client/error.h"
#include "client/read_spread.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::client {
namespace {

class CallRouteTest : public ::testing::Test {
 protected:
  void Learn(uint64_t view_id, const std::vector<std::string>& nodes) {
    kamino::v1::Chain chain;
    chain.set_cluster_id("c");
    chain.set_chain_id(1);
    chain.set_view_id(view_id);
    for (const std::string& node : nodes) chain.add_nodes()->set_address(node);
    ASSERT_TRUE(directory_.Learn(chain));
  }
  CallRoute To(Target target) {
    return CallRoute(target, &directory_, &reads_);
  }
  // Its first attempt goes to the only node between the head and the tail.
  CallRoute ToReplica() {
    for (;;) {
      CallRoute read = To(Target::kAnyReplica);
      if (!read.Choose() || read.address() == "b:1") return read;
    }
  }
  static absl::Status NotClean() {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     kamino::v1::REASON_NOT_CLEAN, "in flight");
  }

  Directory directory_{{{"seed:1"},
                        /*chain_id=*/0,
                        /*credentials=*/nullptr,
                        /*connect=*/nullptr}};
  ReadSpread reads_;
};

TEST_F(CallRouteTest, WithoutAChainNoNodeIsChosen) {
  for (const Target target :
       {Target::kHead, Target::kTail, Target::kAnyReplica}) {
    EXPECT_FALSE(To(target).Choose());
  }
}

TEST_F(CallRouteTest, FollowsTheView) {
  Learn(1, {"a:1", "b:1"});
  CallRoute mutation = To(Target::kHead);
  ASSERT_TRUE(mutation.Choose());
  EXPECT_EQ(mutation.address(), "a:1");
  EXPECT_FALSE(mutation.HasNewerView());
  Learn(2, {"b:1", "c:1"});
  EXPECT_TRUE(mutation.HasNewerView());
  ASSERT_TRUE(mutation.Choose());
  EXPECT_EQ(mutation.address(), "b:1");
  EXPECT_FALSE(mutation.HasNewerView());
}

TEST_F(CallRouteTest, OnlyAReplicaReadFallsBackToTheTail) {
  Learn(1, {"a:1", "b:1"});
  CallRoute read = To(Target::kTail);
  ASSERT_TRUE(read.Choose());
  EXPECT_EQ(read.address(), "b:1");
  EXPECT_FALSE(read.TurnsToTail(absl::UnavailableError("")));
  EXPECT_EQ(read.AttemptTimeout(absl::Hours(1)), kAttemptTimeout);
  EXPECT_EQ(read.AttemptTimeout(absl::Seconds(1)), absl::Seconds(1));
}

TEST_F(CallRouteTest, AReplicaIsAskedOnceAndThenTheTail) {
  Learn(1, {"a:1", "b:1", "c:1"});
  for (const absl::Status& status : {NotClean(), absl::UnavailableError("")}) {
    CallRoute read = ToReplica();
    EXPECT_TRUE(read.TurnsToTail(status)) << status;
    ASSERT_TRUE(read.Choose());
    EXPECT_EQ(read.address(), "c:1");
    EXPECT_FALSE(read.TurnsToTail(status)) << status;
  }
  EXPECT_EQ(reads_.stats().not_clean, 1u);
  EXPECT_EQ(reads_.stats().failed, 1u);
}

TEST_F(CallRouteTest, AnAnswerOfAReplicaEndsTheCall) {
  Learn(1, {"a:1", "b:1", "c:1"});
  CallRoute read = ToReplica();
  EXPECT_FALSE(read.TurnsToTail(absl::OkStatus()));
  EXPECT_EQ(reads_.stats().answered, 1u);
}

// The tail still has time to answer.
TEST_F(CallRouteTest, AReplicaGetsAtMostHalfOfTheTimeout) {
  Learn(1, {"a:1", "b:1", "c:1"});
  const CallRoute read = ToReplica();
  EXPECT_EQ(read.AttemptTimeout(absl::Seconds(1)), absl::Seconds(1) / 2);
  EXPECT_EQ(read.AttemptTimeout(absl::Hours(1)), kReplicaTimeout);
}

}  // namespace
}  // namespace kamino::client
