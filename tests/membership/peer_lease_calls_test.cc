// Peer leases of a member that takes no new connection. Clients are in this
// process, and have two descriptors each.
#include "membership/agent/peer_lease_calls.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "rpc/server.h"
#include "tests/patience.h"

namespace kamino::membership {
namespace {

constexpr int kSpare = 40;

struct AlwaysGrants final : PeerLeaseGrantor {
  PeerLeases::Answer GrantPeerLease(
      const kamino::internal::v1::VouchRequest&) override {
    return {absl::OkStatus(), {}};
  }
};

int Descriptors() {
  const std::filesystem::directory_iterator open("/proc/self/fd");
  return static_cast<int>(std::distance(begin(open), end(open)));
}

// A member that takes few connections.
class FullMember {
 public:
  FullMember() {
    rpc::ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.max_descriptors = Descriptors() + kSpare;
    server_ = *rpc::Server::Start(options, {&service_});
  }
  ~FullMember() {
    for (const int stranger : strangers_) close(stranger);
  }

  std::string address() const {
    return absl::StrCat("127.0.0.1:", server_->port());
  }
  // Strangers use up all the connections that it takes.
  void Fill() {
    char byte;
    do {
      strangers_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in to = {};
      to.sin_family = AF_INET;
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      to.sin_port = htons(static_cast<uint16_t>(server_->port()));
      ASSERT_EQ(connect(strangers_.back(), reinterpret_cast<sockaddr*>(&to),
                        sizeof to),
                0);
      // gRPC sends something first; a refused connection gets nothing.
    } while (recv(strangers_.back(), &byte, 1, 0) == 1);
  }

 private:
  AlwaysGrants peer_lease_grantor_;
  PeerLeaseServer service_{&peer_lease_grantor_};
  std::vector<int> strangers_;
  std::unique_ptr<rpc::Server> server_;
};

// The answer then to a member that asks for a peer lease.
absl::Status AskWhenFull(bool kept) {
  FullMember member;
  absl::Status status;
  absl::Notification answered;
  PeerLeaseCalls calls(
      [&](const PeerLeases::Call&, const PeerLeases::Answer& answer) {
        status = answer.status;
        answered.Notify();
      });
  const int before = Descriptors();
  // It has both ends, and gRPC's own for the connection.
  while (kept && Descriptors() < before + 2) {
    calls.KeepConnected({member.address()});
  }
  member.Fill();
  PeerLeases::Call call;
  call.node_id = "n2";
  call.address = member.address();
  calls.Begin(std::move(call),
              kept ? Patience(absl::Seconds(20)) : absl::Seconds(1));
  answered.WaitForNotification();
  return status;
}

TEST(PeerLeaseCallsTest, AMemberWithoutFreeConnectionsGrantsOnOpenOnes) {
  const absl::Status status = AskWhenFull(/*kept=*/true);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(PeerLeaseCallsTest, AMemberWithoutFreeConnectionsTakesNoNewOne) {
  EXPECT_FALSE(AskWhenFull(/*kept=*/false).ok());
}

}  // namespace
}  // namespace kamino::membership
