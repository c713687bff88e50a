#include "membership/agent/manager_connections.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "rpc/credentials.h"
#include "tests/membership/silent_port.h"
#include "tests/patience.h"
#include "tests/rpc/plain_channel.h"

namespace kamino::membership {
namespace {

constexpr size_t kMost = 2;

class ManagerConnectionsTest : public ::testing::Test {
 protected:
  // Begins a call to the manager, which does not answer.
  void Use(const SilentPort& manager) {
    connections_.To(manager.address());
    const auto deadline =
        absl::ToChronoTime(absl::Now() + Patience(absl::Seconds(10)));
    auto& channel = made_.at(manager.address()).back();
    for (auto state = channel->GetState(true); state != GRPC_CHANNEL_CONNECTING;
         state = channel->GetState(true)) {
      ASSERT_TRUE(channel->WaitForStateChange(state, deadline));
    }
  }
  size_t Made(const SilentPort& manager) {
    return made_[manager.address()].size();
  }

  std::map<std::string, std::vector<std::shared_ptr<grpc::Channel>>> made_;
  ManagerConnections connections_{
      [this](const std::string& address) {
        return made_[address].emplace_back(
            rpc::MakePlainChannel(address, rpc::ChannelCredentials()));
      },
      kMost, [this] { return now_; }};
  absl::Time now_ = absl::UnixEpoch();
  SilentPort one_, other_, third_;
};

TEST_F(ManagerConnectionsTest, KeepsTheMostRecentlyUsed) {
  Use(one_);
  Use(other_);
  Use(one_);
  Use(third_);  // closes the connection to other_
  Use(one_);
  EXPECT_EQ(Made(one_), 1u);
  EXPECT_EQ(Made(third_), 1u);
  Use(other_);
  EXPECT_EQ(Made(other_), 2u);
}

// So that a name that has moved is looked up again, once a second at most.
TEST_F(ManagerConnectionsTest, RenewsAConnectionThatIsOldEnough) {
  Use(one_);
  connections_.Renew(one_.address());
  Use(one_);
  EXPECT_EQ(Made(one_), 1u);
  now_ += ManagerConnections::kRenewAfter;
  connections_.Renew(other_.address());
  connections_.Renew(one_.address());
  Use(one_);
  EXPECT_EQ(Made(one_), 2u);
}

}  // namespace
}  // namespace kamino::membership
