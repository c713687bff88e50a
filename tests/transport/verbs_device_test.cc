// What only a real device shows: that its own checks keep strangers, stale
// writers and broken pairs out of a link's memory. Needs the name of a device
// in KAMINO_VERBS_DEVICE; both ends are in this process and on that device.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/transport/link_rig.h"
#include "transport/verbs/choose_port.h"
#include "transport/verbs/ibverbs_device.h"
#include "transport/verbs/pinned_memory.h"
#include "transport/verbs/verbs_wire.h"

namespace kamino::transport {
namespace {

constexpr size_t kRing = 64 << 10;
constexpr absl::Duration kPatience = absl::Seconds(60);

PortWish Wish() {
  const char* name = std::getenv("KAMINO_VERBS_DEVICE");
  PortWish wish;
  wish.device = name == nullptr ? "KAMINO_VERBS_DEVICE is not set" : name;
  return wish;
}

// Two connected wires, and what completes on them.
class WireTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto port = OpenPort(SystemVerbs().get(), Wish());
    ASSERT_TRUE(port.ok()) << port.status();
    port_ = *std::move(port);
    ASSERT_NO_FATAL_FAILURE(Make(&left_));
    ASSERT_NO_FATAL_FAILURE(Make(&right_));
    const VerbsEndpoint left = left_->Endpoint();
    const VerbsEndpoint right = right_->Endpoint();
    PairPatience patience;
    patience.ack_timeout = 12;  // 17 ms, eight times
    ASSERT_TRUE(left_->Connect(right, patience).ok());
    ASSERT_TRUE(right_->Connect(left, patience).ok());
  }

  void Make(std::unique_ptr<VerbsWire>* wire) {
    auto made = VerbsWire::Create(port_, kRing);
    ASSERT_TRUE(made.ok()) << made.status();
    *wire = *std::move(made);
  }

  // The next completion of `wire`, or nothing for too long.
  static std::optional<Completion> Next(VerbsWire& wire) {
    const absl::Time deadline = absl::Now() + kPatience;
    Completion completion;
    while (absl::Now() < deadline) {
      auto count = wire.pair().Poll(absl::MakeSpan(&completion, 1));
      if (!count.ok()) return std::nullopt;
      if (*count == 1) return completion;
    }
    return std::nullopt;
  }

  // Writes `bytes` bytes of 0xee from left to `offset` of right's ring with
  // `key`; returns how that completed.
  std::string Scribble(uint32_t key, int64_t offset, size_t bytes) {
    auto memory = PinnedMemory::Allocate(kRing);
    EXPECT_TRUE(memory.ok());
    std::memset(memory->bytes().data(), 0xee, kRing);
    auto keys = left_->pair().Register(memory->bytes(), false);
    EXPECT_TRUE(keys.ok()) << keys.status();
    RdmaWrite write;
    write.id = 1;
    write.from = memory->bytes().first(bytes);
    write.local_key = keys->local;
    write.to = right_->Endpoint().ring_address + static_cast<uint64_t>(offset);
    write.remote_key = key;
    write.signaled = true;
    EXPECT_TRUE(left_->pair().PostWrites({&write, 1}).ok());
    auto done = Next(*left_);
    left_->pair().Deregister(*keys);
    EXPECT_TRUE(done.has_value());
    if (!done.has_value()) return "nothing";
    return done->error == nullptr ? "" : done->error;
  }

  bool Untouched() {
    for (std::byte byte : right_->ring()) {
      if (byte != std::byte{0}) return false;
    }
    return true;
  }

  OpenedPort port_;
  std::unique_ptr<VerbsWire> left_;
  std::unique_ptr<VerbsWire> right_;
};

TEST_F(WireTest, TheRightKeyWritesInsideTheRing) {
  EXPECT_EQ(Scribble(right_->Endpoint().ring_key, 100, 1000), "");
  EXPECT_EQ(right_->ring()[100], std::byte{0xee});
  EXPECT_EQ(right_->ring()[1099], std::byte{0xee});
  EXPECT_EQ(right_->ring()[1100], std::byte{0});
}

TEST_F(WireTest, AWrongKeyIsRejected) {
  EXPECT_NE(Scribble(right_->Endpoint().ring_key + 0x100, 0, 8), "");
  EXPECT_TRUE(Untouched());
}

TEST_F(WireTest, BytesBeforeTheRingAreOutOfReach) {
  EXPECT_NE(Scribble(right_->Endpoint().ring_key, -8, 16), "");
  EXPECT_TRUE(Untouched());
}

TEST_F(WireTest, BytesBehindTheRingAreOutOfReach) {
  EXPECT_NE(Scribble(right_->Endpoint().ring_key, kRing - 8, 16), "");
  EXPECT_TRUE(Untouched());
}

// Each link has a protection domain of its own.
TEST_F(WireTest, AKeyOfAnotherLinkOpensNothing) {
  std::unique_ptr<VerbsWire> other;
  ASSERT_NO_FATAL_FAILURE(Make(&other));
  EXPECT_NE(Scribble(other->Endpoint().ring_key, 0, 8), "");
  EXPECT_TRUE(Untouched());
}

// What a view change does to the neighbour that was left behind.
TEST_F(WireTest, AKeyThatWasTakenBackIsRejected) {
  const uint32_t key = right_->Endpoint().ring_key;
  right_->RevokeRing();
  EXPECT_NE(Scribble(key, 0, 8), "");
  EXPECT_TRUE(Untouched());
}

TEST_F(WireTest, APairThatIsGoneAnswersNobody) {
  right_.reset();
  EXPECT_TRUE(left_->SendProbe().ok());
  auto done = Next(*left_);
  ASSERT_TRUE(done.has_value());
  EXPECT_NE(done->error, nullptr) << "the probe of a dead peer succeeded";
}

// Everything posted comes back once the pair is in error.
TEST_F(WireTest, AnErrorFlushesTheReceives) {
  EXPECT_NE(Scribble(right_->Endpoint().ring_key + 0x100, 0, 8), "");
  for (size_t i = 0; i < kReceives; ++i) {
    auto done = Next(*left_);
    ASSERT_TRUE(done.has_value()) << i;
    EXPECT_TRUE(done->received);
    EXPECT_NE(done->error, nullptr);
  }
}

// Pairs, keys and memory go with each link: the device must not run out.
TEST(DeviceLinkTest, OneLinkAfterAnother) {
  LinkRig rig("verbs");
  auto server = rig.NewTransport();
  auto client = rig.NewTransport();
  ASSERT_TRUE(server != nullptr && client != nullptr);
  RecordingListener listener(&rig, server.get());
  for (int i = 0; i < 20; ++i) {
    auto recorder = rig.NewRecorder();
    auto link = client->Connect(listener.address(), recorder);
    ASSERT_TRUE(link.ok()) << link.status();
    ASSERT_TRUE(rig.Until([&] {
      return recorder->connected == 1 &&
             listener.accepted.size() == static_cast<size_t>(i) + 1;
    })) << i;
    ASSERT_TRUE((*link)->Send(Bytes(absl::StrCat(i)), {}).ok());
    ASSERT_TRUE(rig.Until(
        [&] { return listener.accepted.back()->messages.size() == 1; }));
    (*link)->Close();
    ASSERT_TRUE(rig.Until([&] {
      return recorder->closed == 1 && listener.accepted.back()->closed == 1;
    })) << i;
  }
  client.reset();
  server.reset();
}

}  // namespace
}  // namespace kamino::transport
