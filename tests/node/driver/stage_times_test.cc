#include "node/driver/stage_times.h"

#include "gtest/gtest.h"

namespace kamino::node {
namespace {

using replica::Stage;
using replica::StageLap;

class StageTimesTest : public ::testing::Test {
 protected:
  // A log entry: 2 ms in the heap, 3 ms until it is durable.
  void Entry() {
    StageLap lap(&times_, Stage::kExecute);
    now_ += absl::Milliseconds(2);
    lap.Next(Stage::kPersist);
    now_ += absl::Milliseconds(3);
  }
  uint64_t CountOf(Stage stage) { return times_.Read(stage).count(); }

  absl::Time now_ = absl::UnixEpoch();
  int looks_ = 0;  // at the clock
  StageTimes times_{[this] {
    ++looks_;
    return now_;
  }};
};

TEST_F(StageTimesTest, ASampleOfEntriesIsTimed) {
  for (uint32_t i = 0; i < 2 * StageTimes::kOneOf; ++i) Entry();
  EXPECT_EQ(CountOf(Stage::kExecute), 2u);
  EXPECT_EQ(CountOf(Stage::kPersist), 2u);
  EXPECT_EQ(times_.Read(Stage::kExecute).sum_nanos, 4'000'000u);
  EXPECT_EQ(times_.Read(Stage::kPersist).sum_nanos, 6'000'000u);
  EXPECT_EQ(looks_, 6);
  EXPECT_EQ(times_.last_entry(), nullptr);
}

TEST_F(StageTimesTest, AllEntriesAreTimedWhileSlowOperationsAreLogged) {
  times_.TimeAll(true);
  for (int i = 0; i < 3; ++i) Entry();
  EXPECT_EQ(CountOf(Stage::kExecute), 3u);
  EXPECT_EQ(looks_, 9);
  ASSERT_NE(times_.last_entry(), nullptr);
  EXPECT_EQ(times_.last_entry()->execute, absl::Milliseconds(2));
  EXPECT_EQ(times_.last_entry()->persist, absl::Milliseconds(3));
  EXPECT_EQ(times_.last_entry()->ended, now_);
  {
    // One that comes to nothing was not made durable.
    const StageLap lap(&times_, Stage::kExecute);
    now_ += absl::Milliseconds(1);
  }
  EXPECT_EQ(times_.last_entry()->execute, absl::Milliseconds(1));
  EXPECT_EQ(times_.last_entry()->persist, absl::ZeroDuration());
  times_.TimeAll(false);
  EXPECT_EQ(times_.last_entry(), nullptr);
}

}  // namespace
}  // namespace kamino::node
