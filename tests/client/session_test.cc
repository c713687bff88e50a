// The session of a client's mutations: its name, its state and its lease.
#include "client/session/session.h"

#include "client/lane_pool.h"
#include "gtest/gtest.h"
#include "kamino/v1/session.pb.h"

namespace kamino::client {
namespace {

using kamino::v1::SessionName;

class SessionTest : public ::testing::Test {
 protected:
  // The node's answer to a hello that opens the session.
  SessionName Welcome() {
    SessionName name = session_.name();
    name.set_epoch(7);
    name.set_window(kGranted);
    return name;
  }
  void Open() { session_.OnWelcome(Welcome(), now_); }

  static constexpr uint32_t kGranted = 8;
  static constexpr absl::Duration kLease = absl::Seconds(60);

  absl::Time now_ = absl::UnixEpoch();
  LanePool lanes_;
  Session session_{{/*window=*/16, kLease}, &lanes_};
};

TEST_F(SessionTest, TheFirstHelloNamesANewSession) {
  const SessionName name = session_.name();
  EXPECT_NE(name.id(), 0u);
  EXPECT_EQ(name.epoch(), 0u);
  EXPECT_EQ(name.window(), 16u);
  EXPECT_EQ(name.lease_ms(), 60'000u);
  EXPECT_TRUE(session_.Is(name.id()));
  EXPECT_FALSE(session_.IsOpen(name.id()));
  EXPECT_EQ(lanes_.session_id(), 0u);
}

TEST_F(SessionTest, AWelcomeOpensTheSessionAndItsLanes) {
  Open();
  const SessionName name = session_.name();
  EXPECT_EQ(name.epoch(), 7u);
  EXPECT_TRUE(session_.IsOpen(name.id()));
  EXPECT_EQ(lanes_.session_id(), name.id());
  EXPECT_EQ(lanes_.window(), kGranted);
}

// The slots in use keep their numbers.
TEST_F(SessionTest, ASecondWelcomeChangesNoLane) {
  Open();
  const Lane lane = lanes_.Acquire(0);
  Open();
  EXPECT_NE(lanes_.Acquire(0).number, lane.number);
}

TEST_F(SessionTest, OneHelloAtATimeOpensTheSession) {
  const auto first = session_.BeginAttempt();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->id(), session_.name().id());
  EXPECT_EQ(first->epoch(), 0u);
  EXPECT_FALSE(session_.BeginAttempt().has_value());
  session_.EndAttempt(/*opens=*/true);
  EXPECT_TRUE(session_.BeginAttempt().has_value());
}

TEST_F(SessionTest, ConcurrentHellosContinueTheSession) {
  Open();
  EXPECT_TRUE(session_.BeginAttempt().has_value());
  EXPECT_TRUE(session_.BeginAttempt().has_value());
}

// An attempt to continue a session is under way when the session ends. It
// neither opens the next session nor lets a second attempt open it.
TEST_F(SessionTest, AnAttemptToContinueASessionOpensNoOther) {
  Open();
  const auto late = session_.BeginAttempt();
  session_.OnExpired(late->id());
  const auto opening = session_.BeginAttempt();
  EXPECT_EQ(opening->epoch(), 0u);
  EXPECT_EQ(session_.OnHelloFailed(*late).id(), late->id());
  session_.EndAttempt(/*opens=*/false);
  EXPECT_FALSE(session_.BeginAttempt().has_value());
  EXPECT_EQ(session_.name().id(), opening->id());
}

TEST_F(SessionTest, AFailedFirstHelloIsNotRepeated) {
  const uint64_t id = session_.name().id();
  const SessionName next = session_.OnHelloFailed(session_.name());
  EXPECT_NE(next.id(), id);
  EXPECT_EQ(next.epoch(), 0u);
  EXPECT_TRUE(session_.Is(next.id()));
  SessionName late;
  late.set_id(id);
  late.set_epoch(7);
  session_.OnWelcome(late, now_);
  EXPECT_FALSE(session_.IsOpen(id));
  EXPECT_EQ(lanes_.session_id(), 0u);
}

TEST_F(SessionTest, AFailedHelloOfAnOpenSessionIsRepeated) {
  Open();
  const uint64_t id = session_.name().id();
  EXPECT_EQ(session_.OnHelloFailed(session_.name()).id(), id);
  EXPECT_TRUE(session_.IsOpen(id));
}

TEST_F(SessionTest, ANewSessionFollowsAnExpiredOne) {
  Open();
  const uint64_t id = session_.name().id();
  EXPECT_FALSE(session_.OnExpired(id + 1));
  EXPECT_TRUE(session_.IsOpen(id));
  EXPECT_TRUE(session_.OnExpired(id));
  EXPECT_FALSE(session_.Is(id));
  EXPECT_EQ(session_.name().epoch(), 0u);
  EXPECT_EQ(lanes_.session_id(), 0u);
  EXPECT_FALSE(session_.OnExpired(id)) << "a second report changes nothing";
}

TEST_F(SessionTest, AKeepAliveIsDueEveryQuarterOfTheLease) {
  EXPECT_FALSE(session_.TakeKeepAlive(now_ + kLease)) << "it is not open";
  Open();
  EXPECT_FALSE(session_.TakeKeepAlive(now_ + kLease / 4 - absl::Seconds(1)));
  now_ += kLease / 4;
  EXPECT_TRUE(session_.TakeKeepAlive(now_));
  EXPECT_FALSE(session_.TakeKeepAlive(now_));
  session_.KeepAliveSoon(now_);
  EXPECT_FALSE(session_.TakeKeepAlive(now_));
  EXPECT_TRUE(session_.TakeKeepAlive(now_ + Session::kKeepAliveTimeout));
}

TEST_F(SessionTest, ClosingTheSessionClosesItsLanes) {
  Open();
  session_.Close(/*connection=*/nullptr);
  EXPECT_EQ(lanes_.session_id(), 0u);
}

}  // namespace
}  // namespace kamino::client
