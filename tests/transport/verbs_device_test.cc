// Properties of a real device: its own checks keep strangers, stale writers and
// broken pairs out of a link's memory. Needs the name of a device in
// KAMINO_VERBS_DEVICE; both ends are in this process and on that device.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/patience.h"
#include "tests/transport/link_rig.h"
#include "tests/transport/raw_sender.h"
#include "transport/verbs/choose_port.h"
#include "transport/verbs/ibverbs_device.h"
#include "transport/verbs/pinned_memory.h"
#include "transport/verbs/verbs_format.h"
#include "transport/verbs/verbs_wire.h"

namespace kamino::transport {
namespace {

constexpr size_t kRing = 64 << 10;
const absl::Duration kPatience = Patience(absl::Seconds(60));

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

// A view change does this to the former neighbour.
TEST_F(WireTest, ARevokedKeyIsRejected) {
  const uint32_t key = right_->Endpoint().ring_key;
  right_->RevokeRing();
  EXPECT_NE(Scribble(key, 0, 8), "");
  EXPECT_TRUE(Untouched());
}

TEST_F(WireTest, ADestroyedPairAnswersNoProbe) {
  right_.reset();
  EXPECT_TRUE(left_->SendProbe().ok());
  auto done = Next(*left_);
  ASSERT_TRUE(done.has_value());
  EXPECT_NE(done->error, nullptr) << "the probe of a dead peer succeeded";
}

// A key is of one link: what was made since is out of its reach, by a pair that
// is connected to that as well.
TEST_F(WireTest, AKeyOfAClosedLinkDoesNotOpenTheNextLink) {
  const uint32_t kept = right_->Endpoint().ring_key;
  right_.reset();
  left_.reset();
  ASSERT_NO_FATAL_FAILURE(Make(&left_));
  ASSERT_NO_FATAL_FAILURE(Make(&right_));
  const VerbsEndpoint left = left_->Endpoint();
  const VerbsEndpoint right = right_->Endpoint();
  PairPatience patience;
  patience.ack_timeout = 12;
  ASSERT_TRUE(left_->Connect(right, patience).ok());
  ASSERT_TRUE(right_->Connect(left, patience).ok());
  ASSERT_NE(kept, right.ring_key);
  EXPECT_NE(Scribble(kept, 0, 8), "");
  EXPECT_TRUE(Untouched());
}

// Everything posted is returned once the pair is in error.
TEST_F(WireTest, AnErrorFlushesTheReceives) {
  EXPECT_NE(Scribble(right_->Endpoint().ring_key + 0x100, 0, 8), "");
  for (size_t i = 0; i < kReceives; ++i) {
    auto done = Next(*left_);
    ASSERT_TRUE(done.has_value()) << i;
    EXPECT_TRUE(done->received);
    EXPECT_NE(done->error, nullptr);
  }
}

// Offers a pair to the listener.
VerbsEndpoint Ask(LinkRig* rig, const std::string& address,
                  const VerbsEndpoint& offer) {
  absl::Notification answered;
  VerbsEndpoint answer;
  rig->rendezvous().Exchange(address, offer, Patience(absl::Seconds(30)),
                             [&](const absl::StatusOr<VerbsEndpoint>& found) {
                               EXPECT_TRUE(found.ok()) << found.status();
                               if (found.ok()) answer = *found;
                               answered.Notify();
                             });
  answered.WaitForNotification();
  return answer;
}

// Whether something that was posted on `pair` fails.
bool Fails(VerbsPair* pair) {
  const absl::Time deadline = absl::Now() + kPatience;
  Completion completion;
  while (absl::Now() < deadline) {
    auto count = pair->Poll(absl::MakeSpan(&completion, 1));
    if (!count.ok()) return true;
    if (*count == 1 && completion.error != nullptr) return true;
  }
  return false;
}

// The result of the next SEND of `raw` that completes.
std::string Outcome(RawSender* raw) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    const auto one = raw->Next();
    if (!one.has_value()) continue;
    if (one->error != nullptr) return one->error;
    if (!one->received) return "";
  }
  return "nothing";
}

// Pairs, keys and memory go with each link: the device must not run out.
TEST(DeviceLinkTest, LinksInSequenceDoNotExhaustTheDevice) {
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

// A peer by hand: with the number of the pair and the key to the ring of a
// closed link it writes nothing.
TEST(DeviceLinkTest, AKeptKeyOfAClosedLinkWritesNothing) {
  LinkRig rig("verbs");
  auto server = rig.NewTransport();
  ASSERT_NE(server, nullptr);
  RecordingListener listener(&rig, server.get());
  auto port = OpenPort(SystemVerbs().get(), Wish());
  ASSERT_TRUE(port.ok()) << port.status();
  auto made = VerbsWire::Create(*port, kRing);
  ASSERT_TRUE(made.ok()) << made.status();
  VerbsWire& wire = **made;
  VerbsEndpoint offer = wire.Endpoint();
  offer.max_message = 1000;
  ASSERT_TRUE(
      wire.Connect(Ask(&rig, listener.address(), offer), {.ack_timeout = 12})
          .ok());
  ASSERT_TRUE(wire.SendNotice(Notice::kHello, 0, false).ok());
  ASSERT_TRUE(rig.Until([&] { return listener.accepted.size() == 1; }));
  const auto end = listener.accepted[0];
  const auto record = [&](uint64_t position, absl::string_view text) {
    wire.AddRecord(position, Bytes(text), {});
    return wire.PushRecords();
  };
  ASSERT_TRUE(record(0, "12345678").ok());
  ASSERT_TRUE(rig.Until([&] { return end->messages.size() == 1; }));
  end->link->Close();
  ASSERT_TRUE(rig.Until([&] { return end->closed == 1; }));
  ASSERT_TRUE(record(16, "still in").ok());
  ASSERT_TRUE(wire.SendProbe().ok());
  EXPECT_TRUE(Fails(&wire.pair()));
  EXPECT_EQ(end->messages.size(), 1u);
  server.reset();
}

// Likewise of the links that clients have.
TEST(SendDeviceTest, ADestroyedPairReceivesNothing) {
  LinkRig rig("verbsSends");
  auto server = rig.NewTransport();
  auto client = rig.NewTransport();
  ASSERT_TRUE(server != nullptr && client != nullptr);
  RecordingListener listener(&rig, server.get());
  auto port = OpenPort(SystemVerbs().get(), Wish());
  ASSERT_TRUE(port.ok()) << port.status();
  RawSender raw(*port);
  ASSERT_TRUE(raw.Knock(rig.rendezvous(), listener.address()).ok());
  raw.SayHello();
  raw.Send(SendKind::kFirst, 5, "alive");
  ASSERT_TRUE(rig.Until([&] {
    return listener.accepted.size() == 1 &&
           listener.accepted[0]->messages.size() == 1;
  }));
  const auto end = listener.accepted[0];
  end->link->Close();
  ASSERT_TRUE(rig.Until([&] { return end->closed == 1; }));
  // The pair goes once its good-bye is sent: until then messages to it are
  // dropped.
  const absl::Time deadline = absl::Now() + kPatience;
  std::string error;
  while (error.empty() && absl::Now() < deadline) {
    raw.Send(SendKind::kFirst, 5, "stale");
    error = Outcome(&raw);
  }
  EXPECT_NE(error, "");
  EXPECT_EQ(end->messages.size(), 1u);
  // The next client is served, and is not affected.
  auto recorder = rig.NewRecorder();
  auto link = client->Connect(listener.address(), recorder);
  ASSERT_TRUE(link.ok()) << link.status();
  ASSERT_TRUE(rig.Until([&] { return recorder->connected == 1; }));
  ASSERT_TRUE((*link)->Send(Bytes("next"), {}).ok());
  ASSERT_TRUE(rig.Until([&] {
    return listener.accepted.size() == 2 &&
           listener.accepted[1]->messages.size() == 1;
  }));
  EXPECT_EQ(listener.accepted[1]->messages[0], "next");
  client.reset();
  server.reset();
}

// The device itself refuses to write for a peer: no key does, not even the one
// that this process has to its own buffers.
TEST(SendDeviceTest, APeerHasNoWritableMemory) {
  LinkRig rig("verbsSends");
  auto server = rig.NewTransport();
  ASSERT_NE(server, nullptr);
  RecordingListener listener(&rig, server.get());
  auto port = OpenPort(SystemVerbs().get(), Wish());
  ASSERT_TRUE(port.ok()) << port.status();
  for (uint32_t key : {0u, 1u, 0x100u, 0x1000u}) {
    auto wire = VerbsWire::Create(*port, kRing);
    ASSERT_TRUE(wire.ok()) << wire.status();
    VerbsEndpoint offer = RawSender(*port).Offer();
    offer.address = (*wire)->Endpoint().address;
    VerbsEndpoint answer = Ask(&rig, listener.address(), offer);
    EXPECT_EQ(answer.ring_key, 0u);
    ASSERT_TRUE((*wire)
                    ->pair()
                    .Connect(port->choice.gid, (*wire)->Endpoint().address,
                             answer.address, {.ack_timeout = 12})
                    .ok());
    const std::string bytes = "overwritten";
    RdmaWrite write;
    write.id = 1;
    write.from = Bytes(bytes);
    write.to = reinterpret_cast<uint64_t>(bytes.data());
    write.remote_key = key;
    write.inlined = write.signaled = true;
    ASSERT_TRUE((*wire)->pair().PostWrites({&write, 1}).ok());
    EXPECT_TRUE(Fails(&(*wire)->pair())) << key;
  }
  server.reset();
}

// All of the shared receives are used up for a moment; a peer that keeps to its
// window is served, and one that does not is cut off.
TEST(SendDeviceTest, AFloodDoesNotBreakOtherLinks) {
  LinkRig rig("verbsSends");
  auto server = rig.NewTransport();
  auto client = rig.NewTransport();
  ASSERT_TRUE(server != nullptr && client != nullptr);
  RecordingListener listener(&rig, server.get());
  auto recorder = rig.NewRecorder();
  auto link = client->Connect(listener.address(), recorder);
  ASSERT_TRUE(link.ok()) << link.status();
  ASSERT_TRUE(rig.Until([&] { return listener.accepted.size() == 1; }));
  auto port = OpenPort(SystemVerbs().get(), Wish());
  ASSERT_TRUE(port.ok()) << port.status();
  RawSender raw(*port);
  ASSERT_TRUE(raw.Knock(rig.rendezvous(), listener.address()).ok());
  raw.SayHello();
  ASSERT_TRUE(rig.Until([&] { return listener.accepted.size() == 2; }));
  for (int i = 0; i < RawSender::kSends - 10; ++i) {
    raw.Send(SendKind::kFirst, 1, "x");
  }
  const std::string large(200'000, 'l');
  ASSERT_TRUE((*link)->Send(Bytes(large), {}).ok());
  ASSERT_TRUE(
      rig.Until([&] { return listener.accepted[0]->messages.size() == 1; }));
  EXPECT_TRUE(listener.accepted[0]->messages[0] == large);
  EXPECT_EQ(recorder->closed, 0);
  client.reset();
  server.reset();
}

}  // namespace
}  // namespace kamino::transport
