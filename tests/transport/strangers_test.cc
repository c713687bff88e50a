// A connection to a link's socket that is not a peer's disturbs no link, and a
// peer whose bytes turn bad loses only its own link.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/patience.h"
#include "tests/transport/link_rig.h"
#include "transport/loop/event_loop.h"
#include "transport/socket/preface.h"
#include "transport/tcp/frame.h"

namespace kamino::transport {
namespace {

// A plain socket that is connected to that path.
int KnockAt(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::strncpy(to.sun_path, path.c_str(), sizeof(to.sun_path) - 1);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  return fd;
}

class StrangersTest : public ::testing::TestWithParam<std::string> {
 protected:
  StrangersTest()
      : rig_(GetParam()),
        server_(rig_.NewTransport()),
        client_(rig_.NewTransport()),
        listener_(&rig_, server_.get()) {}

  ~StrangersTest() override {
    for (int fd : strangers_) ::close(fd);
    client_.reset();
    server_.reset();
  }

  // A plain socket that is connected to the listener.
  int Knock() {
    const std::string& address = listener_.address();
    int fd;
    if (GetParam() == "tcp") {
      fd = ::socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port =
          htons(std::atoi(address.substr(address.rfind(':') + 1).c_str()));
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    } else {
      fd = KnockAt(address);
    }
    strangers_.push_back(fd);
    return fd;
  }

  static void Say(int fd, absl::string_view bytes) {
    (void)!::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  // Reads to the end of the stream, which must come.
  static void AwaitHangUp(int fd) {
    char bytes[256];
    while (::recv(fd, bytes, sizeof(bytes), 0) > 0) {
    }
  }

  // A real peer's link still works.
  void ExpectService() {
    size_t before;
    {
      absl::MutexLock lock(rig_.mutex());
      before = listener_.accepted.size();
    }
    auto recorder = rig_.NewRecorder();
    auto link = client_->Connect(listener_.address(), recorder);
    ASSERT_TRUE(link.ok()) << link.status();
    ASSERT_TRUE(rig_.Until([&] { return recorder->connected == 1; }));
    ASSERT_TRUE((*link)->Send(Bytes("hello"), {}).ok());
    ASSERT_TRUE(rig_.Until([&] {
      return listener_.accepted.size() > before &&
             listener_.accepted.back()->messages.size() == 1;
    }));
    EXPECT_EQ(listener_.accepted.back()->messages[0], "hello");
  }

  LinkRig rig_;
  std::unique_ptr<Transport> server_;
  std::unique_ptr<Transport> client_;
  RecordingListener listener_;
  std::vector<int> strangers_;
};

TEST_P(StrangersTest, RubbishIsClosedAndDisturbsNoLink) {
  for (int i = 0; i < 20; ++i) {
    const int fd = Knock();
    Say(fd, std::string(1 + i * 97, static_cast<char>(i * 13)));
    AwaitHangUp(fd);
  }
  ExpectService();
  absl::MutexLock lock(rig_.mutex());
  EXPECT_EQ(listener_.accepted.size(), 1u);
}

TEST_P(StrangersTest, SilentStrangersDisturbNoLink) {
  for (int i = 0; i < 20; ++i) Knock();
  Say(strangers_[0], "k");  // the first byte of a preface, and no more
  ExpectService();
}

TEST_P(StrangersTest, AStrangerThatLeavesAtOnceDisturbsNoLink) {
  for (int i = 0; i < 20; ++i) {
    Knock();
    ::close(strangers_.back());
    strangers_.pop_back();
  }
  ExpectService();
}

TEST_P(StrangersTest, APrefaceOfAnotherKindIsClosed) {
  const SocketKind other =
      GetParam() == "tcp" ? SocketKind::kShm : SocketKind::kTcp;
  const Preface preface =
      MakePreface(other, SocketSide::kConnector, 4096, 65536);
  const int fd = Knock();
  Say(fd, {reinterpret_cast<const char*>(&preface), kPrefaceBytes});
  AwaitHangUp(fd);
  ExpectService();
}

// TCP hands over no memory; its frames are tested below.
class NoHandleTest : public StrangersTest {};

// A preface for shared memory that hands over none.
TEST_P(NoHandleTest, AMissingSharedMemoryHandleIsClosed) {
  const Preface preface =
      MakePreface(SocketKind::kShm, SocketSide::kConnector, 4096, 65536);
  const int fd = Knock();
  Say(fd, {reinterpret_cast<const char*>(&preface), kPrefaceBytes});
  AwaitHangUp(fd);
  ExpectService();
}

// All but the last have to give way to those that come later.
TEST(StrangersAtOnceTest, LeaveTimeForOtherEventsOfTheLoop) {
  constexpr int kStrangers = 100;
  LinkRig rig("shm");
  rig.options.max_half_open = 1;
  rig.options.loop = *EventLoop::Start(absl::ZeroDuration());
  EventLoop& loop = *rig.options.loop;
  auto server = rig.NewTransport();
  RecordingListener listener(&rig, server.get());
  absl::Notification all_are_there;
  loop.Post([&] { all_are_there.WaitForNotification(); });
  std::vector<pollfd> strangers;
  for (int i = 0; i < kStrangers; ++i) {
    strangers.push_back({KnockAt(listener.address()), POLLRDHUP, 0});
  }
  int accepted = 0;
  int most = 0;
  absl::Notification done;
  std::function<void()> look = [&] {
    const int now = ::poll(strangers.data(), strangers.size(), 0);
    most = std::max(most, now - accepted);
    accepted = now;
    if (accepted >= kStrangers - 1) return done.Notify();
    loop.Post(look);
  };
  loop.Post(look);
  all_are_there.Notify();
  EXPECT_TRUE(done.WaitForNotificationWithTimeout(Patience(absl::Seconds(20))))
      << accepted;
  EXPECT_LE(most, kStrangers / 2);
  listener.Close();
  server.reset();
  loop.Stop();
  for (const pollfd& stranger : strangers) ::close(stranger.fd);
}

INSTANTIATE_TEST_SUITE_P(Transports, StrangersTest,
                         ::testing::Values("tcp", "shm"),
                         [](const auto& info) { return info.param; });

INSTANTIATE_TEST_SUITE_P(Transports, NoHandleTest, ::testing::Values("shm"),
                         [](const auto& info) { return info.param; });

// A peer that begins well.
class BadFrameTest : public StrangersTest {
 protected:
  // Sends a good message and then `bad`; the link must close with kDataLoss.
  void Expect(absl::string_view bad) {
    const Preface preface =
        MakePreface(SocketKind::kTcp, SocketSide::kConnector, 1 << 20, 0);
    const int fd = Knock();
    Say(fd, {reinterpret_cast<const char*>(&preface), kPrefaceBytes});
    const FrameHead good = MakeFrameHead(Bytes("good"), {});
    Say(fd, {reinterpret_cast<const char*>(&good), sizeof(good)});
    Say(fd, "good");
    Say(fd, bad);
    AwaitHangUp(fd);
    ASSERT_TRUE(rig_.Until([&] {
      return !listener_.accepted.empty() && listener_.accepted.back()->closed;
    }));
    absl::MutexLock lock(rig_.mutex());
    const Recorder& peer = *listener_.accepted.back();
    ASSERT_EQ(peer.messages.size(), 1u);
    EXPECT_EQ(peer.messages[0], "good");
    EXPECT_TRUE(absl::IsDataLoss(peer.why)) << peer.why;
  }
  static std::string Frame(FrameHead head, absl::string_view message) {
    return std::string(reinterpret_cast<const char*>(&head), sizeof(head)) +
           std::string(message);
  }
};

TEST_P(BadFrameTest, BytesWithoutAFrameAreRefused) {
  Expect(std::string(64, 'x'));
}

TEST_P(BadFrameTest, AnOversizedLengthIsRefused) {
  FrameHead head = MakeFrameHead(Bytes("bad"), {});
  head.length = 0xffffffff;
  Expect(Frame(head, "bad"));
}

TEST_P(BadFrameTest, AWrongChecksumIsRefused) {
  Expect(Frame(MakeFrameHead(Bytes("bad"), {}), "bat"));
}

TEST_P(BadFrameTest, OtherLinksAreStillServed) {
  Expect(std::string(64, 'x'));
  ExpectService();
}

INSTANTIATE_TEST_SUITE_P(Transports, BadFrameTest, ::testing::Values("tcp"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kamino::transport
