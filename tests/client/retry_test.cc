#include "client/retry.h"

#include "client/error.h"
#include "gtest/gtest.h"

namespace kamino::client {
namespace {

using kamino::v1::Reason;

Decision After(absl::StatusCode code, Reason reason, int attempt = 1) {
  return DecideAfter(MakeError(code, reason, "x"), attempt, 0.5);
}

TEST(RetryTest, SuccessIsNotRetried) {
  EXPECT_FALSE(DecideAfter(absl::OkStatus(), 1, 0).retry);
}

TEST(RetryTest, AFinalErrorIsNotRetried) {
  for (Reason reason :
       {kamino::v1::REASON_KEY_NOT_FOUND, kamino::v1::REASON_CONFLICT,
        kamino::v1::REASON_HEAP_FULL, kamino::v1::REASON_TOO_LARGE,
        kamino::v1::REASON_PROCEDURE_FAILED, kamino::v1::REASON_SUPERSEDED,
        kamino::v1::REASON_CLIENT_EXPIRED, kamino::v1::REASON_POISONOUS}) {
    // For any code: a procedure may fail with any.
    const Decision decision = After(absl::StatusCode::kUnavailable, reason);
    EXPECT_FALSE(decision.retry) << reason;
    EXPECT_FALSE(decision.outcome_unknown) << reason;
  }
}

TEST(RetryTest, AMovedRoleIsRetriedAfterARefresh) {
  for (Reason reason :
       {kamino::v1::REASON_NOT_HEAD, kamino::v1::REASON_NOT_TAIL,
        kamino::v1::REASON_RECONFIGURING}) {
    const Decision decision =
        After(absl::StatusCode::kFailedPrecondition, reason);
    EXPECT_TRUE(decision.retry && decision.refresh) << reason;
    EXPECT_FALSE(decision.outcome_unknown) << reason;
  }
}

TEST(RetryTest, ALostAnswerLeavesTheOutcomeUnknown) {
  for (absl::StatusCode code :
       {absl::StatusCode::kUnavailable, absl::StatusCode::kDeadlineExceeded,
        absl::StatusCode::kCancelled, absl::StatusCode::kUnknown}) {
    const Decision decision = DecideAfter(absl::Status(code, "x"), 1, 0.5);
    EXPECT_TRUE(decision.retry && decision.refresh && decision.outcome_unknown);
  }
  EXPECT_TRUE(
      After(absl::StatusCode::kUnavailable, kamino::v1::REASON_OUTCOME_UNKNOWN)
          .outcome_unknown);
}

TEST(RetryTest, DelaysGrowToABound) {
  absl::Duration last;
  for (int attempt = 1; attempt < 100; ++attempt) {
    const Decision decision =
        DecideAfter(absl::UnavailableError(""), attempt, 0.999);
    EXPECT_GE(decision.delay, last);
    EXPECT_LE(decision.delay, absl::Milliseconds(200));
    last = decision.delay;
  }
  EXPECT_GT(last, absl::Milliseconds(190));
  EXPECT_LT(DecideAfter(absl::UnavailableError(""), 1, 0).delay,
            absl::Milliseconds(5));
}

TEST(FailureCountTest, RestartsWithEachView) {
  FailureCount failures;
  EXPECT_EQ(failures.Add(3), 1);
  EXPECT_EQ(failures.Add(3), 2);
  EXPECT_EQ(failures.Add(4), 1);
  EXPECT_EQ(failures.Add(4), 2);
}

}  // namespace
}  // namespace kamino::client
