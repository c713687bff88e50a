// Which caller gets a slot of the session, and how waiting callers proceed.
#include "client/lane_pool.h"

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "gtest/gtest.h"

namespace kamino::client {
namespace {

constexpr uint64_t kSession = 7;

class LanePoolTest : public ::testing::Test {
 protected:
  // Records the lanes that waiting callers get, in order; 0: none.
  LanePool::Ready Tell() {
    return [this](std::optional<Lane> lane) {
      told_.push_back(lane.has_value() ? lane->number : 0);
    };
  }
  std::optional<Lane> Acquire(absl::Time deadline = absl::InfiniteFuture()) {
    return pool_.AcquireOr(/*since=*/3, deadline, Tell());
  }

  LanePool pool_;
  std::vector<uint64_t> told_;
};

TEST_F(LanePoolTest, WithoutASessionALaneIsGrantedAtOnce) {
  const auto lane = Acquire();
  ASSERT_TRUE(lane.has_value());
  EXPECT_FALSE(lane->in_session);
  EXPECT_EQ(lane->since, 3u);
  EXPECT_TRUE(told_.empty());
}

TEST_F(LanePoolTest, TheLongestWaitingCallerGetsTheNextSlot) {
  pool_.OpenSession(kSession, 2);
  const auto first = Acquire();
  const auto second = Acquire();
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_FALSE(Acquire().has_value());
  EXPECT_FALSE(Acquire().has_value());
  pool_.Release(*second, /*used=*/true);
  EXPECT_EQ(told_, std::vector<uint64_t>({4}));
  pool_.Release(*first, /*used=*/false);
  EXPECT_EQ(told_, std::vector<uint64_t>({4, 1}));
  // No caller waits any more.
  pool_.Release({kSession, 4, 0, true}, /*used=*/true);
  EXPECT_EQ(Acquire()->number, 6u);
}

TEST_F(LanePoolTest, AnExpiredCallerIsNotifiedAndTakesNoSlot) {
  pool_.OpenSession(kSession, 1);
  const auto lane = Acquire();
  EXPECT_FALSE(Acquire(absl::InfinitePast()).has_value());
  EXPECT_FALSE(Acquire().has_value());
  pool_.Release(*lane, /*used=*/true);
  EXPECT_EQ(told_, std::vector<uint64_t>({0, 2}));
}

TEST_F(LanePoolTest, ATickEndsAnExpiredWait) {
  pool_.OpenSession(kSession, 1);
  ASSERT_TRUE(Acquire().has_value());
  const absl::Time now = MonotonicNow();
  EXPECT_FALSE(Acquire(now + absl::Seconds(1)).has_value());
  EXPECT_FALSE(Acquire(now + absl::Seconds(3)).has_value());
  pool_.Tick(now);
  EXPECT_TRUE(told_.empty());
  pool_.Tick(now + absl::Seconds(2));
  EXPECT_EQ(told_, std::vector<uint64_t>({0}));
}

TEST_F(LanePoolTest, TheNextSessionServesWaitingCallers) {
  pool_.OpenSession(kSession, 1);
  const auto lane = Acquire();
  EXPECT_FALSE(Acquire().has_value());
  pool_.CloseSession();
  EXPECT_FALSE(Acquire()->in_session);  // there is no need to wait
  pool_.OpenSession(kSession + 1, 1);
  pool_.Release(*lane, /*used=*/true);  // of the session before
  EXPECT_TRUE(told_.empty());
  pool_.Tick(MonotonicNow());
  EXPECT_EQ(told_, std::vector<uint64_t>({1}));
}

TEST_F(LanePoolTest, WithoutANextSessionWaitingCallersContinue) {
  pool_.OpenSession(kSession, 1);
  ASSERT_TRUE(Acquire().has_value());
  EXPECT_FALSE(Acquire().has_value());
  pool_.CloseSession();
  pool_.Tick(MonotonicNow());
  EXPECT_EQ(told_, std::vector<uint64_t>({0}));
}

TEST_F(LanePoolTest, EndWaitingReleasesAllCallers) {
  pool_.OpenSession(kSession, 1);
  ASSERT_TRUE(Acquire().has_value());
  EXPECT_FALSE(Acquire().has_value());
  pool_.EndWaiting();
  EXPECT_EQ(told_, std::vector<uint64_t>({0}));
  EXPECT_TRUE(Acquire().has_value());
}

}  // namespace
}  // namespace kamino::client
