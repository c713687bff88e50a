// A node's input over TCP links, from sockets that speak raw.
#include "node/session/session_links.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"
#include "kamino/v1/session.pb.h"
#include "proto/session_frame.h"
#include "tests/node/rpc/node_server_fixture.h"
#include "tests/patience.h"
#include "transport/socket/preface.h"
#include "transport/tcp/frame.h"

namespace kamino::node {
namespace {

using session::FrameKind;
using session::Method;

const absl::Duration kPatience = Patience(absl::Seconds(30));

TEST(MaxTcpLinksTest, SomeDescriptorsAreLeft) {
  EXPECT_EQ(MaxTcpLinks(1 << 20), 16384);
  EXPECT_EQ(MaxTcpLinks(20992), 16384);
  EXPECT_EQ(MaxTcpLinks(20000), 15392);
  EXPECT_EQ(MaxTcpLinks(4096), 2048);
  EXPECT_EQ(MaxTcpLinks(1024), 512);
}

template <typename T>
std::string BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string LinkFrame(absl::string_view message) {
  const absl::Span<const std::byte> bytes(
      reinterpret_cast<const std::byte*>(message.data()), message.size());
  return BytesOf(transport::MakeFrameHead(bytes, {})) + std::string(message);
}

std::string Hello() {
  kamino::v1::SessionHello hello;
  hello.set_min_version(1);
  hello.set_max_version(1);
  return session::MakeFrame(FrameKind::kHello, hello.SerializeAsString());
}

class RawClient {
 public:
  explicit RawClient(const std::string& address)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int little = 4096;  // of what this side does not look at
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    int port = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<uint16_t>(port));
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  ~RawClient() { close(socket_); }

  void Send(const std::string& bytes) {
    EXPECT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Takes exactly so much.
  std::string Take(size_t count) {
    std::string bytes(count, '\0');
    EXPECT_EQ(recv(socket_, bytes.data(), count, MSG_WAITALL),
              static_cast<ssize_t>(count));
    return bytes;
  }
  void Greet() {
    Send(BytesOf(transport::MakePreface(transport::SocketKind::kTcp,
                                        transport::SocketSide::kConnector,
                                        session::kMaxFrameBytes, 0, 0)));
    Send(LinkFrame(Hello()));
    Take(transport::kPrefaceBytes);
    transport::FrameHead head;
    std::memcpy(&head, Take(sizeof head).data(), sizeof head);
    Take(head.length);
  }
  // Whether the other side ends the connection, within that.
  bool IsEnded(absl::Duration patience) {
    pollfd awaited = {socket_, POLLRDHUP, 0};
    return poll(&awaited, 1,
                static_cast<int>(absl::ToInt64Milliseconds(patience))) == 1;
  }

 private:
  const int socket_;
};

SessionServerOptions ImpatientOptions() {
  SessionServerOptions options;
  options.limits.max_silence = Patience(absl::Seconds(1));
  return options;
}

class SessionLinksTest : public NodeServerTest {
 protected:
  SessionLinksTest() : NodeServerTest({}, {}, ImpatientOptions()) {
    views_.Install(1);
  }
  std::string TcpAddress() {
    return session_links_->carriers("127.0.0.1:1").back().address();
  }
  bool AwaitLive(int count, absl::Duration patience) {
    const absl::Time end = absl::Now() + patience;
    while (session_links_->live()() != count) {
      if (absl::Now() > end) return false;
    }
    return true;
  }
};

// One that says nothing yet is one as well.
TEST_F(SessionLinksTest, LinksAreCounted) {
  const auto live = session_links_->live();
  EXPECT_EQ(live(), 0);
  {
    RawClient silent(TcpAddress());
    RawClient greeted(TcpAddress());
    greeted.Greet();
    EXPECT_TRUE(AwaitLive(2, kPatience));
  }
  EXPECT_TRUE(AwaitLive(0, kPatience));
  session_links_.reset();
  EXPECT_EQ(live(), 0);
}

TEST_F(SessionLinksTest, HalfAFrameEndsTheConnection) {
  RawClient client(TcpAddress());
  client.Greet();
  const std::string frame = LinkFrame(Hello());
  client.Send(frame.substr(0, frame.size() - 1));
  EXPECT_TRUE(client.IsEnded(kPatience));
}

// Answers in the link's buffer have not left, and the client does not take
// them.
TEST_F(SessionLinksTest, BufferedAnswersDoNotCountAsTaken) {
  ASSERT_TRUE(Put("big", std::string(1 << 20, 'x'), 1).ok());
  RawClient client(TcpAddress());
  client.Greet();
  kamino::v1::GetRequest get;
  get.set_key("big");
  const std::string body = get.SerializeAsString();
  session::FrameWriter writer(FrameKind::kRequests);
  for (uint32_t tag = 1; tag <= 5; ++tag) {
    writer.Add(session::Request{tag, Method::kGet, 0, 0, body});
  }
  client.Send(LinkFrame(writer.Take()));
  // The client does not learn this before it takes what was sent. The kernel
  // gives up after 10 s.
  ASSERT_TRUE(AwaitLive(1, kPatience));
  EXPECT_TRUE(AwaitLive(0, absl::Seconds(8)));
}

}  // namespace
}  // namespace kamino::node
