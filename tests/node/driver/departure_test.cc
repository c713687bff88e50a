#include "node/driver/departure.h"

#include "gtest/gtest.h"

namespace kamino::node {
namespace {

using membership::StopPermission;
using State = Departure::State;

class DepartureTest : public testing::Test {
 protected:
  void Begin() { departure_.Begin(/*is_member=*/true, now_); }
  // Lets time pass; whether the lease was to be surrendered at the end of it.
  bool Pass(absl::Duration time) {
    now_ += time;
    return departure_.OnTick(now_);
  }
  void Surrender() {
    Begin();
    departure_.OnStopPermission(StopPermission::kGo, now_);
    ASSERT_TRUE(departure_.OnDrained(now_));
  }

  const DepartureOptions options_;
  absl::Time now_ = absl::FromUnixSeconds(1);
  Departure departure_{options_};
};

TEST_F(DepartureTest, ANodeOutsideTheViewStopsAtOnce) {
  departure_.Begin(/*is_member=*/false, now_);
  EXPECT_TRUE(departure_.over());
  EXPECT_FALSE(departure_.has_left());
}

TEST_F(DepartureTest, AMemberHandsOverBeforeItStops) {
  EXPECT_FALSE(departure_.holds());
  Begin();
  departure_.OnStopPermission(StopPermission::kWait, now_);
  EXPECT_EQ(departure_.state(), State::kWaiting);
  EXPECT_FALSE(departure_.holds());  // it serves
  EXPECT_FALSE(departure_.OnDrained(now_));
  departure_.OnStopPermission(StopPermission::kGo, now_);
  EXPECT_TRUE(departure_.holds());
  EXPECT_TRUE(departure_.OnDrained(now_));
  EXPECT_FALSE(departure_.OnDrained(now_));  // once
  departure_.OnStopPermission(StopPermission::kWait, now_);
  departure_.OnView(/*is_member=*/true);  // of something else
  EXPECT_EQ(departure_.state(), State::kSurrendered);
  departure_.OnView(/*is_member=*/false);
  EXPECT_TRUE(departure_.over());
  EXPECT_TRUE(departure_.has_left());
}

TEST_F(DepartureTest, AMemberThatKeepsItsPlaceSurrendersItsLease) {
  Begin();
  departure_.OnStopPermission(StopPermission::kStay, now_);
  EXPECT_EQ(departure_.state(), State::kDraining);
  EXPECT_TRUE(departure_.OnDrained(now_));
  departure_.OnStopPermission(StopPermission::kStay, now_);
  EXPECT_TRUE(departure_.over());
  EXPECT_FALSE(departure_.has_left());
}

TEST_F(DepartureTest, TheManagersAnswerAloneEndsTheStop) {
  Surrender();
  departure_.OnStopPermission(StopPermission::kGo, now_);
  EXPECT_TRUE(departure_.over());
  EXPECT_TRUE(departure_.has_left());
}

TEST_F(DepartureTest, AnUnknownAnswerOfTheManagerEndsTheStop) {
  Begin();
  departure_.OnStopPermission(StopPermission::kUnknown, now_);
  EXPECT_TRUE(departure_.over());
  EXPECT_FALSE(departure_.has_left());
}

// Without a manager, waiting would only hold up its lease and its clients.
TEST_F(DepartureTest, ASilentManagerEndsTheStop) {
  Begin();
  Pass(options_.asking);
  EXPECT_TRUE(departure_.over());
  EXPECT_FALSE(departure_.has_left());
}

TEST_F(DepartureTest, EachStateIsBounded) {
  Begin();
  departure_.OnStopPermission(StopPermission::kWait, now_);
  EXPECT_FALSE(Pass(options_.asking - absl::Milliseconds(1)));
  EXPECT_EQ(departure_.state(), State::kWaiting);
  EXPECT_FALSE(Pass(absl::Milliseconds(1)));
  EXPECT_EQ(departure_.state(), State::kDraining);
  EXPECT_TRUE(Pass(options_.draining));
  EXPECT_EQ(departure_.state(), State::kSurrendered);
  EXPECT_FALSE(Pass(options_.surrendered));
  EXPECT_TRUE(departure_.over());
  EXPECT_FALSE(departure_.has_left());
  EXPECT_LT(options_.asking + options_.draining + options_.surrendered,
            absl::Seconds(6));
}

TEST_F(DepartureTest, AnExpelledNodeHasLeft) {
  Begin();
  departure_.OnView(/*is_member=*/false);
  EXPECT_TRUE(departure_.over());
  EXPECT_TRUE(departure_.has_left());
}

TEST_F(DepartureTest, ViewsBeforeTheStopAreIgnored) {
  departure_.OnView(/*is_member=*/false);
  EXPECT_EQ(departure_.state(), State::kServing);
}

}  // namespace
}  // namespace kamino::node
