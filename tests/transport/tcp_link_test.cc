// What links over TCP promise beyond transport/link.h.
#include <malloc.h>

#include <memory>
#include <string>
#include <vector>

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

}  // namespace
}  // namespace kamino::transport
