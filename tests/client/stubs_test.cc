#include "client/stubs.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "client/timer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/channel.h"

namespace kamino::client {
namespace {

using kamino::v1::KaminoService;
using ::testing::ElementsAre;

class StubsTest : public ::testing::Test {
 protected:
  // Waits until due tasks have run.
  void AwaitTimer() {
    absl::Notification ran;
    timer_.After(absl::ZeroDuration(), [&ran] { ran.Notify(); });
    ran.WaitForNotification();
  }

  std::vector<std::string> connected_;
  absl::Time now_ = absl::UnixEpoch();
  Timer timer_;
  Stubs<KaminoService> stubs_{[this](const std::string& address) {
                                connected_.push_back(address);
                                return rpc::MakeChannel(address);
                              },
                              &timer_, [this] { return now_; }};
};

TEST_F(StubsTest, AnAddressHasOneStub) {
  const auto stub = stubs_.At("localhost:1");
  EXPECT_EQ(stubs_.At("localhost:1"), stub);
  EXPECT_NE(stubs_.At("localhost:2"), stub);
  EXPECT_THAT(connected_, ElementsAre("localhost:1", "localhost:2"));
}

// The name is looked up again, once a second at most.
TEST_F(StubsTest, AStubIsRenewedOnceItIsOldEnough) {
  const auto stub = stubs_.At("localhost:1");
  stubs_.Renew("localhost:1");
  EXPECT_EQ(stubs_.At("localhost:1"), stub);
  now_ += Stubs<KaminoService>::kRenewAfter;
  stubs_.Renew("localhost:2");
  EXPECT_EQ(stubs_.At("localhost:1"), stub);
  stubs_.Renew("localhost:1");
  const auto renewed = stubs_.At("localhost:1");
  EXPECT_NE(renewed, stub);
  stubs_.Renew("localhost:1");
  EXPECT_EQ(stubs_.At("localhost:1"), renewed);
  EXPECT_EQ(connected_.size(), 2u);
}

// Otherwise the call's end would destroy the channel on a gRPC thread.
TEST_F(StubsTest, AReplacedStubOutlivesItsCalls) {
  auto call = stubs_.At("localhost:1");
  const std::weak_ptr<KaminoService::Stub> former = call;
  now_ += Stubs<KaminoService>::kRenewAfter;
  stubs_.Renew("localhost:1");
  timer_.Hurry();
  AwaitTimer();
  call = nullptr;
  EXPECT_FALSE(former.expired());
  // The next retired stub begins another sweep.
  stubs_.At("localhost:1");
  now_ += Stubs<KaminoService>::kRenewAfter;
  stubs_.Renew("localhost:1");
  timer_.Hurry();
  AwaitTimer();
  EXPECT_TRUE(former.expired());
}

TEST_F(StubsTest, TheNumberOfStubsIsBounded) {
  const auto first = stubs_.At("localhost:1");
  for (int port = 2; port <= 65; ++port) {
    stubs_.At(absl::StrCat("localhost:", port));
  }
  EXPECT_NE(stubs_.At("localhost:1"), first);
  EXPECT_EQ(connected_.size(), 66u);
}

}  // namespace
}  // namespace kamino::client
