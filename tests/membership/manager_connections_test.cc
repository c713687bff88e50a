#include "membership/manager_connections.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "rpc/credentials.h"
#include "tests/patience.h"
#include "tests/rpc/plain_channel.h"

namespace kamino::membership {
namespace {

constexpr size_t kMost = 2;

// A port whose connections never end their handshake: a channel to it stays
// in GRPC_CHANNEL_CONNECTING.
class SilentPort {
 public:
  SilentPort() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at = {};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const any = reinterpret_cast<sockaddr*>(&at);
    EXPECT_EQ(bind(listener_, any, size), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    EXPECT_EQ(getsockname(listener_, any, &size), 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(at.sin_port));
  }
  ~SilentPort() { close(listener_); }

  const std::string& address() const { return address_; }

 private:
  const int listener_;
  std::string address_;
};

class ManagerConnectionsTest : public ::testing::Test {
 protected:
  // Begins a call to the manager, which stays without an answer.
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
