#include "node/driver/restart_policy.h"

#include "gtest/gtest.h"
#include "tests/faults/planted.h"

namespace kamino::node {
namespace {

TEST(RestartPolicyTest, AQuickRebootDoesNotWait) {
  for (uint32_t restarts : {0, 1, 2}) {
    EXPECT_EQ(DelayAfter({}, restarts), absl::ZeroDuration());
  }
}

TEST(RestartPolicyTest, DelaysDoubleToABound) {
  EXPECT_EQ(DelayAfter({}, 3), absl::Seconds(1));
  EXPECT_EQ(DelayAfter({}, 4), absl::Seconds(2));
  EXPECT_EQ(DelayAfter({}, 5), absl::Seconds(4));
  EXPECT_EQ(DelayAfter({}, 9), absl::Minutes(1));
  EXPECT_EQ(DelayAfter({}, 4'000'000'000), absl::Minutes(1));
}

TEST(RestartPolicyTest, AZeroDelayNeverWaits) {
  RestartPolicy policy;
  policy.first_delay = absl::ZeroDuration();
  EXPECT_EQ(DelayAfter(policy, 100), absl::ZeroDuration());
}

TEST(RestartPolicyTest, APolicyThatNeverWaitsIsDetected) {
  faults::Planted fault("restart-policy-never-waits");
  EXPECT_EQ(DelayAfter({}, 9), absl::ZeroDuration());
}

}  // namespace
}  // namespace kamino::node
