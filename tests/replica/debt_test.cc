#include "replica/debt.h"

#include "gtest/gtest.h"

namespace kamino::replica {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(5);

class DebtTest : public ::testing::Test {
 protected:
  void Update(bool owes, uint64_t paid, absl::Duration later = kTick) {
    now_ += later;
    debt_.Update(owes, paid, now_);
  }

  absl::Time now_ = absl::UnixEpoch();
  Debt debt_;
};

TEST_F(DebtTest, GrowsWhileNothingIsPaid) {
  Update(false, 3);
  EXPECT_EQ(debt_.age(), absl::ZeroDuration());
  Update(true, 3);
  EXPECT_EQ(debt_.age(), absl::ZeroDuration());
  for (int i = 0; i < 200; ++i) Update(true, 3);
  EXPECT_EQ(debt_.age(), 200 * kTick);
  Update(true, 4);
  EXPECT_EQ(debt_.age(), absl::ZeroDuration());
  Update(true, 4);
  EXPECT_EQ(debt_.age(), kTick);
  Update(false, 4);
  EXPECT_EQ(debt_.age(), absl::ZeroDuration());
}

TEST_F(DebtTest, APauseOfThisNodeIsNoDebtOfAnother) {
  Update(true, 3);
  Update(true, 3);
  Update(true, 3, absl::Seconds(2));
  EXPECT_EQ(debt_.age(), kTick + Debt::kLongestPause);
  // A node that is slow, but goes on, still notices.
  for (int i = 0; i < 10; ++i) Update(true, 3, Debt::kLongestPause);
  EXPECT_EQ(debt_.age(), kTick + 11 * Debt::kLongestPause);
}

}  // namespace
}  // namespace kamino::replica
