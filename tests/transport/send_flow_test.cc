// Flow control of a link without rings, without a link.
#include "transport/verbs/send_flow.h"

#include <cstdint>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace kamino::transport {
namespace {

constexpr uint32_t kWindow = 3;

SendHead Head(SendKind kind, uint64_t taken) { return {kind, {}, 0, taken}; }

// Receives so many messages that need credit, and posts their buffers again.
void Receive(SendFlow* flow, uint32_t messages) {
  for (uint32_t i = 0; i < messages; ++i) {
    ASSERT_EQ(flow->OnHead(Head(SendKind::kFirst, 0)), absl::OkStatus());
  }
  flow->OnBuffersPosted();
}

TEST(SendFlowTest, TheWindowLimitsUnacknowledgedMessages) {
  SendFlow flow;
  for (uint32_t i = 0; i < kWindow; ++i) {
    EXPECT_TRUE(flow.HasCredit(kWindow));
    flow.CountSent();
  }
  EXPECT_FALSE(flow.HasCredit(kWindow));
  EXPECT_EQ(flow.OnHead(Head(SendKind::kFirst, 1)), absl::OkStatus());
  EXPECT_TRUE(flow.HasCredit(kWindow));
}

TEST(SendFlowTest, ACreditIsDueForAQuarterOfTheWindow) {
  SendFlow flow;
  Receive(&flow, kTakenPerCredit - 1);
  EXPECT_FALSE(flow.CreditDue());
  Receive(&flow, 1);
  EXPECT_TRUE(flow.CreditDue());
  EXPECT_EQ(flow.taken(), kTakenPerCredit);
  flow.CountReport();
  EXPECT_FALSE(flow.CreditDue());
}

TEST(SendFlowTest, AProbeMakesACreditDueUnlessAMessageReportsIt) {
  SendFlow flow;
  ASSERT_EQ(flow.OnHead(Head(SendKind::kProbe, 0)), absl::OkStatus());
  flow.OnBuffersPosted();
  EXPECT_TRUE(flow.CreditDue());
  flow.CountReport();
  EXPECT_FALSE(flow.CreditDue());
  Receive(&flow, 1);
  EXPECT_FALSE(flow.CreditDue());
}

// The send queue was full when the probe came. A message that needs credit
// reports it, and a credit that follows would acknowledge too often.
TEST(SendFlowTest, AMessageAnswersTheProbeThatItReports) {
  SendFlow flow;
  ASSERT_EQ(flow.OnHead(Head(SendKind::kProbe, 0)), absl::OkStatus());
  flow.OnBuffersPosted();
  flow.CountReport();
  Receive(&flow, 1);
  EXPECT_FALSE(flow.CreditDue());
}

TEST(SendFlowTest, APeerThatExceedsItsCreditIsDetected) {
  SendFlow flow;
  Receive(&flow, kSendWindow);
  EXPECT_TRUE(absl::IsDataLoss(flow.OnHead(Head(SendKind::kFirst, 0))));
}

TEST(SendFlowTest, AnImpossibleAcknowledgementIsDetected) {
  SendFlow flow;
  flow.CountSent();
  EXPECT_TRUE(absl::IsDataLoss(flow.OnHead(Head(SendKind::kFirst, 2))));
  EXPECT_EQ(flow.OnHead(Head(SendKind::kFirst, 1)), absl::OkStatus());
  EXPECT_TRUE(absl::IsDataLoss(flow.OnHead(Head(SendKind::kFirst, 0))));
}

TEST(SendFlowTest, ASmallCreditIsForAProbeOnly) {
  SendFlow flow;
  flow.CountProbe();
  EXPECT_TRUE(flow.probing());
  EXPECT_EQ(flow.OnHead(Head(SendKind::kCredit, 1)), absl::OkStatus());
  EXPECT_FALSE(flow.probing());
  flow.CountSent();
  EXPECT_TRUE(absl::IsDataLoss(flow.OnHead(Head(SendKind::kCredit, 2))));
}

TEST(SendFlowTest, QuietPeriodsAreCountedWhileAnAnswerIsAwaited) {
  SendFlow flow;
  EXPECT_EQ(flow.CountQuietPeriod(kWindow), 0);
  flow.CountProbe();
  EXPECT_EQ(flow.CountQuietPeriod(kWindow), 1);
  EXPECT_EQ(flow.CountQuietPeriod(kWindow), 2);
  EXPECT_EQ(flow.OnHead(Head(SendKind::kCredit, 1)), absl::OkStatus());
  EXPECT_EQ(flow.CountQuietPeriod(kWindow), 0);
}

}  // namespace
}  // namespace kamino::transport
