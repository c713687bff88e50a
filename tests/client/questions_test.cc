// Which nodes a client asks, with a clock and nodes of the test.
#include "client/questions.h"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class QuestionsTest : public ::testing::Test {
 protected:
  // A round of these; returns whether it is over already.
  bool Begin(const std::vector<std::string>& addresses,
             Questions::Until until = Questions::Until::kFirst) {
    ++begun_;
    const int ended_before = ended_;
    questions_.Begin(addresses, until, [this] { ++ended_; });
    return ended_ > ended_before;
  }
  void Answer(const std::string& address,
              const absl::Status& status = absl::OkStatus()) {
    const auto question = in_flight_.find(address);
    ASSERT_NE(question, in_flight_.end());
    const Questions::Ended ended = question->second;
    in_flight_.erase(question);
    ended(status);
  }
  // The nodes asked since the last call.
  std::vector<std::string> Asked() { return std::exchange(asked_, {}); }
  void PatienceIsOver() {
    for (auto& task : std::exchange(tasks_, {})) task();
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  std::vector<std::string> asked_;
  std::map<std::string, Questions::Ended> in_flight_;
  std::vector<std::function<void()>> tasks_;
  int begun_ = 0;
  int ended_ = 0;
  Questions questions_{
      {[this] { return now_; },
       [this](const std::string& address, Questions::Ended ended) {
         EXPECT_TRUE(in_flight_.emplace(address, std::move(ended)).second)
             << "two questions are in flight to " << address;
         asked_.push_back(address);
       },
       [this](absl::Duration, std::function<void()> task) {
         tasks_.push_back(std::move(task));
       }}};
};

TEST_F(QuestionsTest, ASlowNodeIsAskedOnceWhileAQuickNodeAnswersEachRound) {
  Begin({"slow", "quick"});
  EXPECT_THAT(Asked(), ElementsAre("slow", "quick"));
  for (int round = 0; round < 50; ++round) {
    Answer("quick");
    EXPECT_EQ(ended_, begun_);
    now_ += absl::Milliseconds(10);
    Begin({"slow", "quick"});
    EXPECT_THAT(Asked(), ElementsAre("quick"));
  }
  Answer("quick");
}

TEST_F(QuestionsTest, ARoundThatWaitsForAllEndsWithTheLastAnswer) {
  Begin({"a", "b", "c"}, Questions::Until::kAll);
  Answer("a");
  Answer("b", absl::UnavailableError("b is down"));
  EXPECT_EQ(ended_, 0);
  Answer("c");
  EXPECT_EQ(ended_, 1);
  EXPECT_TRUE(questions_.last_error().ok()) << questions_.last_error();
}

TEST_F(QuestionsTest, ARoundThatWaitsForAllEndsWithItsPatience) {
  Begin({"a", "b"}, Questions::Until::kAll);
  Answer("a");
  EXPECT_EQ(ended_, 0);
  PatienceIsOver();
  EXPECT_EQ(ended_, 1);
  EXPECT_TRUE(questions_.last_error().ok()) << questions_.last_error();
  Answer("b");
}

TEST_F(QuestionsTest, ANodeRestsForAsLongAsItsAnswerTook) {
  Begin({"a", "b"});
  Answer("b");
  now_ += absl::Seconds(2);
  Answer("a");
  Asked();
  now_ += absl::Milliseconds(1999);
  Begin({"a", "b"});
  EXPECT_THAT(Asked(), ElementsAre("b"));
  Answer("b");
  now_ += absl::Milliseconds(1);
  Begin({"a", "b"});
  EXPECT_THAT(Asked(), ElementsAre("a", "b"));
}

// Also for a failed node: questions still reach it.
TEST_F(QuestionsTest, ThePauseIsBounded) {
  Begin({"a"});
  now_ += absl::Minutes(1);
  Answer("a", absl::DeadlineExceededError("late"));
  Asked();
  now_ += Questions::kMaxPause - absl::Milliseconds(1);
  EXPECT_TRUE(Begin({"a"}));
  EXPECT_THAT(Asked(), IsEmpty());
  now_ += absl::Milliseconds(1);
  EXPECT_FALSE(Begin({"a"}));
  EXPECT_THAT(Asked(), ElementsAre("a"));
}

TEST_F(QuestionsTest, AQuickNodeNeedsNoRest) {
  Begin({"a"});
  now_ += Questions::kQuick;
  Answer("a");
  Begin({"a"});
  EXPECT_THAT(Asked(), ElementsAre("a", "a"));
}

// All nodes are slower than a round: the rounds end and say why, and the answer
// to the only question counts for the round in which it arrives.
TEST_F(QuestionsTest, SlowNodesKeepTheirQuestionAcrossRounds) {
  for (int round = 0; round < 12; ++round) {
    EXPECT_FALSE(Begin({"a"}));
    now_ += absl::Milliseconds(500);
    PatienceIsOver();
    EXPECT_EQ(ended_, begun_);
    EXPECT_EQ(questions_.last_error().code(),
              absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(std::string(questions_.last_error().message()),
                HasSubstr("a has not answered yet"));
  }
  EXPECT_THAT(Asked(), ElementsAre("a"));
  Begin({"a"});
  Begin({"a"});
  Answer("a");
  EXPECT_EQ(ended_, begun_);
  EXPECT_EQ(begun_, 14);
}

TEST_F(QuestionsTest, ALateAnswerDoesNotEndALaterRoundTwice) {
  Begin({"a"});
  PatienceIsOver();
  Answer("a");
  Begin({"a"});
  PatienceIsOver();
  EXPECT_EQ(ended_, 2);
  Answer("a");
  EXPECT_EQ(ended_, 2);
}

// A task of a round that is over does not end the next one.
TEST_F(QuestionsTest, EachRoundHasItsOwnPatience) {
  Begin({"a"});
  auto first = std::exchange(tasks_, {});
  Answer("a");
  Begin({"a"});
  for (auto& task : first) task();
  EXPECT_EQ(ended_, 1);
  Answer("a");
  EXPECT_EQ(ended_, 2);
}

TEST_F(QuestionsTest, ARoundFailsOnceAllNodesFail) {
  Begin({"a", "b"});
  Answer("a", absl::UnavailableError("a is down"));
  EXPECT_EQ(ended_, 0);
  Answer("b", absl::InvalidArgumentError("b is no node"));
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(questions_.last_error(), absl::UnavailableError("a is down"));
}

// Otherwise a client would give up while a node may still answer.
TEST_F(QuestionsTest, AWrongServerDoesNotHideASilentNode) {
  Begin({"a", "b"});
  Answer("b", absl::InvalidArgumentError("b is no node"));
  PatienceIsOver();
  EXPECT_EQ(questions_.last_error().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(QuestionsTest, WithoutANodeToAskTheRoundEndsAtOnce) {
  Begin({"a"});
  now_ += absl::Seconds(1);
  Answer("a", absl::UnavailableError("down"));
  Asked();
  EXPECT_TRUE(Begin({"a"}));
  EXPECT_THAT(Asked(), IsEmpty());
  EXPECT_EQ(questions_.last_error(), absl::UnavailableError("down"));
}

TEST_F(QuestionsTest, AQuestionBesideTheRoundsIsRateLimited) {
  EXPECT_TRUE(questions_.AskBeside("a"));
  EXPECT_FALSE(questions_.AskBeside("a")) << "one is in flight";
  now_ += absl::Seconds(1);
  Answer("a", absl::UnavailableError("down"));
  EXPECT_FALSE(questions_.AskBeside("a")) << "it rests";
  now_ += absl::Seconds(1);
  EXPECT_TRUE(questions_.AskBeside("a"));
  Asked();
  Begin({"a", "b"});
  EXPECT_THAT(Asked(), ElementsAre("b"));
  Answer("b");
  EXPECT_EQ(ended_, 1) << "the round does not wait for the other question";
  Answer("a");
}

TEST_F(QuestionsTest, ItsEndWaitsOnlyForQuestionsInFlight) {
  Begin({"a"});
  EXPECT_FALSE(questions_.AwaitEnd(absl::Milliseconds(1)));
  Answer("a");
  EXPECT_TRUE(questions_.AwaitEnd(absl::InfiniteDuration()));
}

}  // namespace
}  // namespace kamino::client
