#include "replica/core/answer_wait.h"

#include "gtest/gtest.h"

namespace kamino::replica {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(5);

class AnswerWaitTest : public ::testing::Test {
 protected:
  void Update(bool waits, uint64_t answered, absl::Duration later = kTick) {
    now_ += later;
    answer_wait_.Update(waits, answered, now_);
  }

  absl::Time now_ = absl::UnixEpoch();
  AnswerWait answer_wait_;
};

TEST_F(AnswerWaitTest, GrowsWhileNothingIsAnswered) {
  Update(false, 3);
  EXPECT_EQ(answer_wait_.age(), absl::ZeroDuration());
  Update(true, 3);
  EXPECT_EQ(answer_wait_.age(), absl::ZeroDuration());
  for (int i = 0; i < 200; ++i) Update(true, 3);
  EXPECT_EQ(answer_wait_.age(), 200 * kTick);
  Update(true, 4);
  EXPECT_EQ(answer_wait_.age(), absl::ZeroDuration());
  Update(true, 4);
  EXPECT_EQ(answer_wait_.age(), kTick);
  Update(false, 4);
  EXPECT_EQ(answer_wait_.age(), absl::ZeroDuration());
}

constexpr absl::Duration kTimeout = absl::Seconds(1);

// The core of a node with little to do checks for answers rarely.
TEST_F(AnswerWaitTest, IdleTimeCountsInFull) {
  Update(true, 3);
  Update(true, 3, absl::Seconds(2));
  EXPECT_EQ(answer_wait_.age(), absl::Seconds(2));
  Update(true, 3, absl::Seconds(3));
  EXPECT_EQ(answer_wait_.age(), absl::Seconds(5));
}

TEST_F(AnswerWaitTest, AStandstillDoesNotCountAsWaiting) {
  Update(true, 3);
  answer_wait_.StoodStill(absl::Milliseconds(700), kTimeout);
  Update(true, 3, absl::Milliseconds(800));
  EXPECT_EQ(answer_wait_.age(), absl::Milliseconds(100));
  Update(true, 3);
  EXPECT_EQ(answer_wait_.age(), absl::Milliseconds(100) + kTick);
}

TEST_F(AnswerWaitTest, AtMostOneTimeoutIsExcused) {
  Update(true, 3);
  for (int i = 0; i < 4; ++i) {
    answer_wait_.StoodStill(absl::Milliseconds(700), kTimeout);
    Update(true, 3, absl::Milliseconds(800));
  }
  EXPECT_EQ(answer_wait_.age(), 4 * absl::Milliseconds(800) - kTimeout);
  // A new wait begins with the same time.
  Update(true, 4);
  answer_wait_.StoodStill(absl::Milliseconds(700), kTimeout);
  Update(true, 4, absl::Milliseconds(800));
  EXPECT_EQ(answer_wait_.age(), absl::Milliseconds(100));
}

TEST_F(AnswerWaitTest, AStandstillBeforeTheWaitExcusesNothing) {
  Update(false, 3);
  answer_wait_.StoodStill(absl::Milliseconds(700), kTimeout);
  Update(true, 3);
  Update(true, 3, absl::Milliseconds(50));
  EXPECT_EQ(answer_wait_.age(), absl::Milliseconds(50));
  // The pause was longer than the wait.
  answer_wait_.StoodStill(absl::Milliseconds(700), kTimeout);
  Update(true, 3);
  EXPECT_EQ(answer_wait_.age(), absl::ZeroDuration());
  Update(true, 3);
  EXPECT_EQ(answer_wait_.age(), kTick);
}

}  // namespace
}  // namespace kamino::replica
