// Promises of links over TCP beyond transport/link.h.
#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/patience.h"
#include "tests/transport/link_rig.h"
#include "transport/socket/preface.h"
#include "transport/tcp/frame.h"

namespace kamino::transport {
namespace {

// Bytes that this process has asked for and not given back.
size_t Allocated() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// A node takes thousands of clients, most of which say little.
TEST(TcpLinkTest, AnAlmostIdleLinkUsesLittleMemory) {
  constexpr int kLinks = 200;
  constexpr size_t kMostOfAnEnd = size_t{16} << 10;
  LinkRig rig("tcp");
  rig.options.max_accepted = kLinks;
  auto server = rig.NewTransport();
  auto client = rig.NewTransport();
  RecordingListener listener(&rig, server.get());
  const size_t before = Allocated();
  ASSERT_NE(before, 0u);
  std::vector<std::shared_ptr<Recorder>> ends;
  for (int i = 0; i < kLinks; ++i) {
    ends.push_back(rig.NewRecorder());
    auto link = client->Connect(listener.address(), ends.back());
    ASSERT_TRUE(link.ok()) << link.status();
    ASSERT_TRUE(rig.Until([&] {
      return ends.back()->connected == 1 &&
             listener.accepted.size() == ends.size();
    }));
    ASSERT_TRUE((*link)->Send(Bytes("hello"), {}).ok());
    ASSERT_TRUE(
        listener.accepted.back()->link->Send(Bytes("welcome"), {}).ok());
    ASSERT_TRUE(rig.Until([&] {
      return ends.back()->messages.size() == 1 &&
             listener.accepted.back()->messages.size() == 1;
    }));
  }
  EXPECT_LT(Allocated() - before, 2 * kLinks * kMostOfAnEnd);

  // Any of these links can still carry a large message.
  const std::string much(rig.options.max_message, 'x');
  ASSERT_TRUE(ends.front()->link->Send(Bytes(much), {}).ok());
  ASSERT_TRUE(rig.Until(
      [&] { return listener.accepted.front()->messages.size() == 2; }));
  EXPECT_EQ(listener.accepted.front()->messages.back(), much);
}

// A link that has carried some messages gives their memory back.
TEST(TcpLinkTest, ALinkFreesMemoryAfterSomeMessages) {
  constexpr size_t kSome = size_t{100} << 10;
  LinkRig rig("tcp");
  auto server = rig.NewTransport();
  auto client = rig.NewTransport();
  RecordingListener listener(&rig, server.get());
  auto end = rig.NewRecorder();
  auto link = client->Connect(listener.address(), end);
  ASSERT_TRUE(link.ok()) << link.status();
  ASSERT_TRUE(rig.Until(
      [&] { return end->connected == 1 && listener.accepted.size() == 1; }));
  const auto accepted = listener.accepted.front();
  const size_t before = Allocated();
  ASSERT_TRUE((*link)->Send(Bytes(std::string(kSome, 'x')), {}).ok());
  ASSERT_TRUE(rig.Until([&] { return accepted->messages.size() == 1; }));
  {
    absl::MutexLock lock(rig.mutex());
    accepted->messages.clear();
    accepted->messages.shrink_to_fit();
  }
  const absl::Time deadline = absl::Now() + Patience(absl::Seconds(30));
  while (Allocated() > before + kSome / 4 && absl::Now() < deadline) {
  }
  EXPECT_LT(Allocated(), before + kSome / 4);
}

// A slow peer's progress shows before the socket takes more.
TEST(TcpLinkTest, ASlowPeersProgressIsVisible) {
  constexpr size_t kLittle = size_t{64} << 10;
  LinkRig rig("tcp");
  rig.options.peer_timeout = absl::Hours(1);  // the kernel goes on trying
  auto server = rig.NewTransport();
  RecordingListener listener(&rig, server.get());
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string& at = listener.address();
  address.sin_port =
      htons(static_cast<uint16_t>(std::stoi(at.substr(at.rfind(':') + 1))));
  const int peer = socket(AF_INET, SOCK_STREAM, 0);
  const int few = 4096;
  setsockopt(peer, SOL_SOCKET, SO_RCVBUF, &few, sizeof few);
  ASSERT_EQ(
      connect(peer, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const Preface preface =
      MakePreface(SocketKind::kTcp, SocketSide::kConnector, 1 << 20, 0, 0);
  ASSERT_EQ(send(peer, &preface, sizeof preface, 0),
            static_cast<ssize_t>(sizeof preface));
  ASSERT_TRUE(rig.Until([&] { return listener.accepted.size() == 1; }));
  const std::shared_ptr<Link> link = listener.accepted.front()->link;
  EXPECT_EQ(link->held().unsent, 0u);
  const std::string much(rig.options.max_message - kFrameHeadBytes, 'x');
  while (link->Send(Bytes(much), {}).ok()) {
  }
  const size_t held = link->held().unsent;
  EXPECT_GT(held, rig.options.send_buffer / 2);
  std::string little(kLittle, '\0');
  ASSERT_EQ(recv(peer, little.data(), kLittle, MSG_WAITALL),
            static_cast<ssize_t>(kLittle));
  const absl::Time deadline = absl::Now() + Patience(absl::Seconds(30));
  while (link->held().unsent >= held && absl::Now() < deadline) {
  }
  EXPECT_LT(link->held().unsent, held);
  EXPECT_GT(link->held().unsent + 4 * kLittle, held);
  close(peer);
}

// Each of them may be sent much once, and nothing after it.
TEST(TcpLinkTest, ALinkFreesMemoryAfterALargeMessage) {
  constexpr size_t kMuch = size_t{4} << 20;
  LinkRig rig("tcp");
  rig.options.max_message = kMuch;
  rig.options.send_buffer = rig.options.ring_bytes = 2 * kMuch;
  auto server = rig.NewTransport();
  auto client = rig.NewTransport();
  RecordingListener listener(&rig, server.get());
  auto end = rig.NewRecorder();
  auto link = client->Connect(listener.address(), end);
  ASSERT_TRUE(link.ok()) << link.status();
  ASSERT_TRUE(rig.Until(
      [&] { return end->connected == 1 && listener.accepted.size() == 1; }));
  const auto accepted = listener.accepted.front();
  const size_t before = Allocated();
  const auto send = [&](const std::string& text) {
    if (!(*link)->Send(Bytes(text), {}).ok() ||
        !rig.Until([&] { return !accepted->messages.empty(); })) {
      return false;
    }
    absl::MutexLock lock(rig.mutex());
    const auto came = std::exchange(accepted->messages, {});
    return came.front() == text;
  };
  ASSERT_TRUE(send(std::string(kMuch, 'x')));
  const absl::Time deadline = absl::Now() + Patience(absl::Seconds(30));
  do {
    ASSERT_TRUE(send("little"));
  } while (Allocated() > before + kMuch / 2 && absl::Now() < deadline);
  EXPECT_LT(Allocated(), before + kMuch / 2);
  EXPECT_TRUE(send(std::string(kMuch, 'y')));
}

}  // namespace
}  // namespace kamino::transport
