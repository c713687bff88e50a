// A process above its memory limit cuts off the peer that sends most.
#include "rpc/flood_guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "rpc/channelz.h"
#include "rpc/server.h"
#include "tests/faults/planted.h"
#include "tests/patience.h"

namespace kamino::rpc {
namespace {

const absl::Duration kPatience = Patience(absl::Seconds(20));

std::string Frame(char type, char flags, char stream, const std::string& body) {
  const char head[] = {
      0, 0, static_cast<char>(body.size()), type, flags, 0, 0, 0, stream};
  return std::string(head, sizeof(head)) + body;
}

// Sends frames that HTTP/2 has the other end ignore, and takes what comes.
class Talker {
 public:
  explicit Talker(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at = {};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&at), sizeof(at)),
              0);
    Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(4, 0, 0, ""));
  }
  ~Talker() { close(socket_); }
  Talker(const Talker&) = delete;
  Talker& operator=(const Talker&) = delete;

  bool Send(const std::string& bytes) {
    return send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  bool SendPriorities() {
    return Send(Frame(2, 0, 1, std::string("\0\0\0\0\1", 5)));
  }
  // Whether a ping is answered: it is served still.
  bool IsServed() {
    if (!Send(Frame(6, 0, 0, "12345678"))) return false;
    std::string got;
    char bytes[4096];
    while (got.find("12345678") == std::string::npos) {
      const ssize_t now = recv(socket_, bytes, sizeof(bytes), 0);
      if (now <= 0) return false;
      got.append(bytes, static_cast<size_t>(now));
    }
    return true;
  }

 private:
  const int socket_;
};

TEST(FloodGuardTest, AFloodingSenderIsClosedOverTheMemoryLimit) {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.max_process_bytes = 1;
  auto server = Server::Start(options, {});
  ASSERT_TRUE(server.ok()) << server.status();
  Talker talker((*server)->port());
  const absl::Time end = MonotonicNow() + kPatience;
  bool served = true;
  while (served && MonotonicNow() < end) served = talker.SendPriorities();
  EXPECT_FALSE(served);
}

TEST(FloodGuardTest, NoSenderIsClosedWithinTheMemoryLimit) {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  auto server = Server::Start(options, {});
  ASSERT_TRUE(server.ok()) << server.status();
  Talker talker((*server)->port());
  for (int i = 0; i < 20000; ++i) ASSERT_TRUE(talker.SendPriorities());
  EXPECT_TRUE(talker.IsServed());
}

// While a server is made others may not look.
class LooksOn final : public grpc::ServerBuilderPlugin {
 public:
  std::string name() override { return "looks_on"; }
  void InitServer(grpc::ServerInitializer*) override {
    std::thread([] {
      absl::Mutex& mutex = ServersMutex();
      may_look = mutex.TryLock();
      if (may_look) mutex.Unlock();
    }).join();
    ++servers;
  }
  void Finish(grpc::ServerInitializer*) override {}
  void ChangeArguments(const std::string&, void*) override {}

  static int servers;
  static bool may_look;
};
int LooksOn::servers = 0;
bool LooksOn::may_look = true;

// Whether a server that is being made can be looked at.
bool IsSeenHalfMade() {
  static const bool once = [] {
    grpc::ServerBuilder::InternalAddPluginFactory(
        [] { return std::unique_ptr<grpc::ServerBuilderPlugin>(new LooksOn); });
    return true;
  }();
  EXPECT_TRUE(once);
  const int before = LooksOn::servers;
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  auto server = Server::Start(options, {});
  EXPECT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(LooksOn::servers, before + 1);
  EXPECT_EQ(ChannelzServers().size(), 1u);
  return LooksOn::may_look;
}

TEST(FloodGuardTest, AServerUnderConstructionIsNotInspected) {
  EXPECT_FALSE(IsSeenHalfMade());
}

TEST(FloodGuardTest, InspectingAServerUnderConstructionIsDetected) {
  faults::Planted fault("servers-seen-half-made");
  EXPECT_TRUE(IsSeenHalfMade());
}

}  // namespace
}  // namespace kamino::rpc
