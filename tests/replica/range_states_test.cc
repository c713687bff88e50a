#include "replica/state/range_states.h"

#include "gtest/gtest.h"

namespace kamino::replica {
namespace {

using Origin = RangeStates::Origin;

TEST(RangeStatesTest, AWriteEndsAnAgreement) {
  RangeStates states(3);
  EXPECT_EQ(states.agreed(1), 0u);
  states.Begin(1);
  states.Agree(1, 7);
  EXPECT_EQ(states.agreed(1), 7u);
  states.OnWritten(2);
  EXPECT_EQ(states.agreed(1), 7u);
  states.OnWritten(1);
  EXPECT_EQ(states.agreed(1), 0u);
}

TEST(RangeStatesTest, AWriteDuringAComparisonPreventsAgreement) {
  RangeStates states(3);
  states.Begin(1);
  states.OnWritten(1);
  states.Agree(1, 7);
  EXPECT_EQ(states.agreed(1), 0u);
  // That answer belonged to another question.
  states.Begin(2);
  states.Agree(1, 8);
  EXPECT_EQ(states.agreed(1), 0u);
  states.Agree(2, 8);
  EXPECT_EQ(states.agreed(2), 8u);
}

TEST(RangeStatesTest, ACopyIsOwnOnceConfirmed) {
  RangeStates states(2);
  EXPECT_TRUE(states.all_own());
  states.Reset(Origin::kCopied);
  EXPECT_FALSE(states.all_own());
  states.OnWritten(0);  // part of it
  EXPECT_EQ(states.origin(0), Origin::kCopied);
  for (uint64_t range : {0, 1}) {
    EXPECT_FALSE(states.all_own());
    states.Begin(range);
    states.OnWritten(range);
    states.Agree(range, 7);
    EXPECT_EQ(states.origin(range), Origin::kOwn);
  }
  EXPECT_TRUE(states.all_own());
}

TEST(RangeStatesTest, ARangeThatANeighbourRepairsIsBorrowed) {
  RangeStates states(2);
  states.Begin(0);
  states.Agree(0, 7);
  states.OnBorrowed(0);
  EXPECT_EQ(states.agreed(0), 0u);
  EXPECT_EQ(states.origin(0), Origin::kBorrowed);
  states.Begin(0);
  states.OnBorrowed(0);
  states.Agree(0, 7);
  EXPECT_EQ(states.origin(0), Origin::kBorrowed);
  EXPECT_FALSE(states.all_own());
}

}  // namespace
}  // namespace kamino::replica
