#include "replica/state/range_states.h"

#include "gtest/gtest.h"

namespace kamino::replica {
namespace {

using Origin = RangeStates::Origin;

TEST(RangeStatesTest, KnowsWhatWasAgreedUntilItIsWritten) {
  RangeStates book(3);
  EXPECT_EQ(book.agreed(1), 0u);
  book.Begin(1);
  book.Agree(1, 7);
  EXPECT_EQ(book.agreed(1), 7u);
  book.OnWritten(2);
  EXPECT_EQ(book.agreed(1), 7u);
  book.OnWritten(1);
  EXPECT_EQ(book.agreed(1), 0u);
}

TEST(RangeStatesTest, WhatIsWrittenMeanwhileIsNotAgreed) {
  RangeStates book(3);
  book.Begin(1);
  book.OnWritten(1);
  book.Agree(1, 7);
  EXPECT_EQ(book.agreed(1), 0u);
  // That answer belonged to another question.
  book.Begin(2);
  book.Agree(1, 8);
  EXPECT_EQ(book.agreed(1), 0u);
  book.Agree(2, 8);
  EXPECT_EQ(book.agreed(2), 8u);
}

TEST(RangeStatesTest, ACopyIsItsOwnOnceItIsBorneOut) {
  RangeStates book(2);
  EXPECT_TRUE(book.all_own());
  book.Reset(Origin::kCopied);
  EXPECT_FALSE(book.all_own());
  book.OnWritten(0);  // part of it
  EXPECT_EQ(book.origin(0), Origin::kCopied);
  for (uint64_t range : {0, 1}) {
    EXPECT_FALSE(book.all_own());
    book.Begin(range);
    book.OnWritten(range);
    book.Agree(range, 7);
    EXPECT_EQ(book.origin(range), Origin::kOwn);
  }
  EXPECT_TRUE(book.all_own());
}

TEST(RangeStatesTest, WhatANeighbourMendsIsBorrowed) {
  RangeStates book(2);
  book.Begin(0);
  book.Agree(0, 7);
  book.OnBorrowed(0);
  EXPECT_EQ(book.agreed(0), 0u);
  EXPECT_EQ(book.origin(0), Origin::kBorrowed);
  book.Begin(0);
  book.OnBorrowed(0);
  book.Agree(0, 7);
  EXPECT_EQ(book.origin(0), Origin::kBorrowed);
  EXPECT_FALSE(book.all_own());
}

}  // namespace
}  // namespace kamino::replica
