#include "node/driver/propagation_pace.h"

#include <vector>

#include "gtest/gtest.h"

namespace kamino::node {
namespace {

constexpr absl::Duration kBudget = PropagationPace::kBudget;

// A medium on which a step takes so long in all and for each transaction.
struct Medium {
  absl::Duration step;
  absl::Duration transaction;
};

absl::Duration StepOf(const Medium& medium, PropagationPace* pace) {
  const size_t step = pace->step();
  const absl::Duration time =
      medium.step + medium.transaction * static_cast<int64_t>(step);
  pace->Took(step, time);
  return time;
}

TEST(PropagationPaceTest, FastMemoryTakesTheMostAtOnce) {
  PropagationPace pace;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(pace.step(), PropagationPace::kMost);
    StepOf({absl::Microseconds(2), absl::Microseconds(3)}, &pace);
  }
}

TEST(PropagationPaceTest, ASlowMediumMakesStepsShort) {
  PropagationPace pace;
  const Medium disk = {absl::Milliseconds(4), absl::Milliseconds(2)};
  for (int i = 0; i < 5; ++i) StepOf(disk, &pace);
  for (int i = 0; i < 1000; ++i) EXPECT_LE(StepOf(disk, &pace), kBudget);
  EXPECT_GE(pace.step(), 2u);  // not shorter than it need be
}

TEST(PropagationPaceTest, AStepHasAtLeastOneTransaction) {
  PropagationPace pace;
  for (int i = 0; i < 20; ++i) {
    StepOf({absl::Milliseconds(50), absl::Milliseconds(10)}, &pace);
    EXPECT_GE(pace.step(), 1u);
  }
  EXPECT_EQ(pace.step(), 1u);
}

TEST(PropagationPaceTest, StepsGrowAgainOnceTheMediumIsFast) {
  PropagationPace pace;
  for (int i = 0; i < 20; ++i) pace.Took(pace.step(), absl::Seconds(1));
  EXPECT_EQ(pace.step(), 1u);
  for (size_t i = 1; i < PropagationPace::kMost; ++i) {
    StepOf({absl::Microseconds(2), absl::Microseconds(3)}, &pace);
  }
  EXPECT_EQ(pace.step(), PropagationPace::kMost);
}

}  // namespace
}  // namespace kamino::node
