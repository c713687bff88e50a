#include "client/read_spread.h"

#include <algorithm>
#include <string>

#include "gtest/gtest.h"

namespace kamino::client {
namespace {

using Result = ReadSpread::Result;

// In a chain of four: the head never has a turn.
ReadSpread::Place PlaceAt(uint64_t turn) {
  const char* const addresses[] = {"n2", "n3", "n4"};
  return {addresses[turn % 3], turn % 3 == 2};
}

class ReadSpreadTest : public ::testing::Test {
 protected:
  std::string Next() { return spread_.Next(PlaceAt, now_); }
  // The result of the next reads at replicas.
  void Answer(int count, Result result) {
    for (int i = 0; i < count; ++i) spread_.OnResult("n2", result, now_);
  }
  bool AllGoToTheTail() {
    for (int i = 0; i < 6; ++i) {
      if (!Next().empty()) return false;
    }
    return true;
  }

  ReadSpread spread_;
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(ReadSpreadTest, ReplicasTakeTurns) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(Next(), "n2");
    EXPECT_EQ(Next(), "n3");
    EXPECT_EQ(Next(), "");  // the tail
  }
}

TEST_F(ReadSpreadTest, RestsWhenMostAnswersAreNotClean) {
  Answer(ReadSpread::kAnswers / 2, Result::kAnswered);
  EXPECT_FALSE(AllGoToTheTail());
  Answer(ReadSpread::kAnswers / 2, Result::kNotClean);
  EXPECT_TRUE(AllGoToTheTail());
  now_ += ReadSpread::kRest;
  EXPECT_FALSE(AllGoToTheTail());
}

TEST_F(ReadSpreadTest, RestsGrowToABoundWhileAnswersAreNotClean) {
  absl::Duration rest = ReadSpread::kRest;
  for (int i = 0; i < 8; ++i) {
    Answer(ReadSpread::kAnswers, Result::kNotClean);
    now_ += rest - absl::Milliseconds(1);
    EXPECT_TRUE(AllGoToTheTail()) << i;
    now_ += absl::Milliseconds(1);
    EXPECT_FALSE(AllGoToTheTail()) << i;
    rest = std::min(2 * rest, ReadSpread::kLongestRest);
  }
  Answer(ReadSpread::kAnswers, Result::kAnswered);
  Answer(ReadSpread::kAnswers, Result::kNotClean);
  EXPECT_TRUE(AllGoToTheTail());
  now_ += ReadSpread::kRest;
  EXPECT_FALSE(AllGoToTheTail());
}

TEST_F(ReadSpreadTest, AnswersDuringARestAreIgnored) {
  Answer(3 * ReadSpread::kAnswers, Result::kNotClean);
  now_ += ReadSpread::kRest;
  EXPECT_FALSE(AllGoToTheTail());
}

TEST_F(ReadSpreadTest, FewAnswersThatAreNotCleanCauseNoRest) {
  for (int i = 0; i < 100; ++i) {
    Answer(3, Result::kAnswered);
    Answer(1, Result::kNotClean);
  }
  EXPECT_FALSE(AllGoToTheTail());
  EXPECT_EQ(spread_.stats().answered, 300u);
  EXPECT_EQ(spread_.stats().not_clean, 100u);
}

TEST_F(ReadSpreadTest, AReplicaThatFailsIsSkippedForAWhile) {
  EXPECT_EQ(Next(), "n2");
  spread_.OnResult("n2", Result::kFailed, now_);
  for (int i = 0; i < 6; ++i) EXPECT_NE(Next(), "n2");
  now_ += ReadSpread::kAvoid;
  bool asked = false;
  for (int i = 0; i < 3; ++i) asked |= Next() == "n2";
  EXPECT_TRUE(asked);
  EXPECT_EQ(spread_.stats().failed, 1u);
}

TEST_F(ReadSpreadTest, TheTailServesWhenAllReplicasFail) {
  for (const char* name : {"n2", "n3"}) {
    spread_.OnResult(name, Result::kFailed, now_);
  }
  EXPECT_TRUE(AllGoToTheTail());
}

}  // namespace
}  // namespace kamino::client
