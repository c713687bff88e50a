// Which seeds a client asks in the background, with a clock of the test.
#include "client/silent_seeds.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SilentSeedsTest : public ::testing::Test {
 protected:
  std::vector<std::string> Asked() { return std::exchange(asked_, {}); }
  // Runs the waiting task as if its time were over.
  void RunTask() {
    ASSERT_NE(task_, nullptr);
    std::exchange(task_, nullptr)();
  }
  // The time passes until the task is due; returns how long that was.
  absl::Duration PassTime() {
    now_ += delay_;
    const absl::Duration passed = delay_;
    RunTask();
    return passed;
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  std::vector<std::string> asked_;
  bool may_ask_ = true;
  absl::Duration delay_;
  std::function<void()> task_;
  SilentSeeds seeds_{{"a", "b"},
                     {[this] { return now_; },
                      [this](absl::Duration delay, std::function<void()> task) {
                        EXPECT_EQ(task_, nullptr) << "two tasks wait";
                        delay_ = delay;
                        task_ = std::move(task);
                      },
                      [this](const std::string& address) {
                        if (may_ask_) asked_.push_back(address);
                        return may_ask_;
                      }}};
};

TEST_F(SilentSeedsTest, AsksEachSeedUntilItAnswers) {
  seeds_.Start();
  seeds_.Start();
  EXPECT_THAT(Asked(), IsEmpty()) << "the rounds have just asked";
  PassTime();
  EXPECT_THAT(Asked(), ElementsAre("a", "b"));
  seeds_.Heard("a");
  seeds_.Heard("c");
  EXPECT_FALSE(seeds_.Compares("a"));
  EXPECT_TRUE(seeds_.Compares("b"));
  PassTime();
  EXPECT_THAT(Asked(), ElementsAre("b"));
  seeds_.Heard("b");
  PassTime();
  EXPECT_THAT(Asked(), IsEmpty());
  EXPECT_EQ(task_, nullptr);
}

TEST_F(SilentSeedsTest, ThePauseDoublesUpToABound) {
  seeds_.Start();
  std::vector<int64_t> pauses;
  for (int pass = 0; pass < 8; ++pass) {
    pauses.push_back(absl::ToInt64Seconds(PassTime()));
  }
  EXPECT_THAT(pauses, ElementsAre(1, 2, 4, 8, 16, 30, 30, 30));
}

// A question is in flight to each, or they rest.
TEST_F(SilentSeedsTest, ThePauseDoesNotGrowWhenNoSeedMayBeAsked) {
  may_ask_ = false;
  seeds_.Start();
  PassTime();
  EXPECT_EQ(delay_, SilentSeeds::kFirstPause);
  may_ask_ = true;
  PassTime();
  EXPECT_EQ(delay_, 2 * SilentSeeds::kFirstPause);
}

TEST_F(SilentSeedsTest, ATaskThatRunsEarlyAsksNoSeed) {
  seeds_.Start();
  now_ += SilentSeeds::kFirstPause / 4;
  RunTask();
  EXPECT_THAT(Asked(), IsEmpty());
  EXPECT_EQ(delay_, SilentSeeds::kFirstPause * 3 / 4);
  PassTime();
  EXPECT_THAT(Asked(), ElementsAre("a", "b"));
}

// Another cluster may use the address by then.
TEST_F(SilentSeedsTest, ASeedThatStaysSilentIsNoLongerCompared) {
  seeds_.Start();
  const absl::Time start = now_;
  while (task_ != nullptr) {
    EXPECT_EQ(seeds_.Compares("a"), now_ < start + SilentSeeds::kCompared);
    PassTime();
  }
  EXPECT_FALSE(seeds_.Compares("a"));
  EXPECT_GE(now_, start + SilentSeeds::kCompared);
}

// The timer runs its waiting tasks at its end.
TEST_F(SilentSeedsTest, AsksNoSeedAndLeavesNoTaskAfterStop) {
  seeds_.Start();
  seeds_.Stop();
  RunTask();
  EXPECT_THAT(Asked(), IsEmpty());
  EXPECT_EQ(task_, nullptr);
}

}  // namespace
}  // namespace kamino::client
