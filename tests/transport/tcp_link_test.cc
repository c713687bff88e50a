// What links over TCP promise beyond transport/link.h.
#include <malloc.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/transport/link_rig.h"

namespace kamino::transport {
namespace {

// Bytes that this process has asked for and not given back.
size_t Allocated() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// A node takes thousands of clients, most of whom say little.
TEST(TcpLinkTest, OneThatIsSentLittleTakesLittle) {
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

  // And any of them may be sent much, all the same.
  const std::string much(rig.options.max_message, 'x');
  ASSERT_TRUE(ends.front()->link->Send(Bytes(much), {}).ok());
  ASSERT_TRUE(rig.Until(
      [&] { return listener.accepted.front()->messages.size() == 2; }));
  EXPECT_EQ(listener.accepted.front()->messages.back(), much);
}

// Each of them may be sent much once, and nothing after it.
TEST(TcpLinkTest, OneThatWasSentMuchGivesItBack) {
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
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  do {
    ASSERT_TRUE(send("little"));
  } while (Allocated() > before + kMuch / 2 && absl::Now() < deadline);
  EXPECT_LT(Allocated(), before + kMuch / 2);
  EXPECT_TRUE(send(std::string(kMuch, 'y')));
}

}  // namespace
}  // namespace kamino::transport
