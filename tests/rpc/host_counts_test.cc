#include "rpc/host_counts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace kamino::rpc {
namespace {

using Verdict = HostCounts::Verdict;

// A connection of this machine's: the server's end, and the client's.
class Pair {
 public:
  Pair() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at = {};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(at);
    EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size);
    client = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&at), size), 0);
    server = accept(listener, nullptr, nullptr);
    close(listener);
  }
  ~Pair() {
    close(client);
    End();
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  void End() {
    if (server >= 0) close(server);
    server = -1;
  }
  // The client sends so much, and it is there.
  void Send(size_t bytes) {
    const std::string text(bytes, 'x');
    EXPECT_EQ(send(client, text.data(), text.size(), 0),
              static_cast<ssize_t>(bytes));
    std::string got(bytes, '\0');
    EXPECT_EQ(recv(server, got.data(), got.size(), MSG_WAITALL),
              static_cast<ssize_t>(bytes));
  }
  int server = -1;
  int client = -1;
};

const absl::Time kStart = absl::UnixEpoch();

sockaddr_storage Address(const std::string& text, int port = 7) {
  sockaddr_storage address = {};
  auto& at = reinterpret_cast<sockaddr_in&>(address);
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(inet_pton(AF_INET, text.c_str(), &at.sin_addr), 1) << text;
  return address;
}
const sockaddr_storage kA = Address("10.0.0.1");
const sockaddr_storage kB = Address("10.0.0.2");
// When what was found full is looked at again.
const absl::Time kLater = kStart + absl::Seconds(1);

TEST(HostCountsTest, ConnectionsPerHostAreBounded) {
  HostCounts counts({.connections = 2});
  Pair first, second, third, fourth;
  EXPECT_EQ(counts.Take(first.server, kA, kStart), Verdict::kTaken);
  EXPECT_EQ(counts.Take(second.server, kA, kStart), Verdict::kTaken);
  EXPECT_EQ(counts.Take(third.server, kA, kStart), Verdict::kTooMany);
  EXPECT_EQ(counts.Take(fourth.server, kB, kStart), Verdict::kTaken);
  first.End();
  EXPECT_EQ(counts.Take(third.server, kA, kLater), Verdict::kTaken);
}

// Or the others would wait while all of one host's are looked at, each time.
TEST(HostCountsTest, AFullHostIsNotRecountedAtOnce) {
  HostCounts counts({.connections = 1});
  Pair first, second;
  EXPECT_EQ(counts.Take(first.server, kA, kStart), Verdict::kTaken);
  EXPECT_EQ(counts.Take(second.server, kA, kStart), Verdict::kTooMany);
  first.End();
  EXPECT_EQ(counts.Take(second.server, kA, kStart + absl::Milliseconds(49)),
            Verdict::kTooMany);
  EXPECT_EQ(counts.Take(second.server, kA, kStart + absl::Milliseconds(51)),
            Verdict::kTaken);
}

// The number of a descriptor that was closed is the next one's.
TEST(HostCountsTest, AReusedDescriptorIsANewConnection) {
  HostCounts counts({.connections = 1});
  Pair first;
  EXPECT_EQ(counts.Take(first.server, kA, kStart), Verdict::kTaken);
  const int number = first.server;
  Pair second;
  first.End();
  ASSERT_EQ(dup2(second.server, number), number);
  EXPECT_EQ(counts.Take(second.server, kA, kStart), Verdict::kTaken);
  close(number);
}

TEST(HostCountsTest, HandshakesPerHostAreBounded) {
  HostCounts counts({.connections = 100, .half_open = 2});
  Pair first, second, third;
  EXPECT_EQ(counts.Take(first.server, kA, kStart), Verdict::kTaken);
  EXPECT_EQ(counts.Take(second.server, kA, kStart), Verdict::kTaken);
  EXPECT_EQ(counts.Take(third.server, kA, kStart), Verdict::kTooManyHalfOpen);
  EXPECT_EQ(counts.Take(third.server, kB, kStart), Verdict::kTaken);
}

// Whatever it has sent: a stranger may send much that never ends.
TEST(HostCountsTest, AHandshakeEndsOnceItsPeerIsKnown) {
  HostCounts counts({.connections = 100, .half_open = 1});
  std::string known;
  counts.SetKnown(
      [&known](const std::string& address) { return address == known; });
  Pair first, second;
  const auto from = [](int port) { return Address("10.0.0.1", port); };
  EXPECT_EQ(counts.Take(first.server, from(1), kStart), Verdict::kTaken);
  first.Send(10000);
  EXPECT_EQ(counts.Take(second.server, from(2), kStart),
            Verdict::kTooManyHalfOpen);
  known = "10.0.0.1:1";
  EXPECT_EQ(counts.Take(second.server, from(2), kLater), Verdict::kTaken);
}

// gRPC has closed what took longer.
TEST(HostCountsTest, HandshakesExpire) {
  HostCounts counts({.connections = 100, .half_open = 1});
  Pair first, second;
  EXPECT_EQ(counts.Take(first.server, kA, kStart), Verdict::kTaken);
  EXPECT_EQ(counts.Take(second.server, kA, kStart + absl::Seconds(9)),
            Verdict::kTooManyHalfOpen);
  EXPECT_EQ(counts.Take(second.server, kA, kStart + absl::Seconds(11)),
            Verdict::kTaken);
}

TEST(HostCountsTest, HostsWithoutConnectionsAreForgotten) {
  HostCounts counts({.connections = 1});
  for (int i = 0; i < 5000; ++i) {
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    counts.Take(descriptor,
                Address("10.1." + std::to_string(i / 250) + "." +
                        std::to_string(i % 250)),
                kStart);
    close(descriptor);
  }
  EXPECT_LT(counts.hosts(), 2000u);
}

}  // namespace
}  // namespace kamino::rpc
