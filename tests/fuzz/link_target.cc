// Bytes from the other end of a link: first bytes of a socket, frames, a ring
// in shared memory, positions in immediate data.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "glog/logging.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"
#include "transport/ring/ring.h"
#include "transport/ring/ring_receiver.h"
#include "transport/socket/preface.h"
#include "transport/tcp/frame.h"
#include "transport/verbs/verbs_format.h"

namespace kamino::fuzz {
namespace {

using transport::FrameHead;
using transport::kFrameHeadBytes;
using transport::Notice;
using transport::Preface;
using transport::RingReader;
using transport::RingReceiver;
using transport::RingWriter;
using transport::SocketKind;
using transport::SocketSide;

constexpr size_t kMaxMessage = 2048;
constexpr size_t kRingBytes = 4096;

absl::Span<const std::byte> AsBytes(absl::string_view bytes) {
  return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
}

// As a TCP link takes a stream apart.
void Frames(Input input) {
  while (!input.empty()) {
    const absl::string_view bytes = input.Bytes(kFrameHeadBytes);
    if (bytes.size() < kFrameHeadBytes) return;
    FrameHead head;
    std::memcpy(&head, bytes.data(), sizeof(head));
    if (!transport::CheckFrameHead(head, kMaxMessage).ok()) return;
    CHECK_LE(head.length, kMaxMessage);
    const absl::string_view message = input.Bytes(head.length);
    if (message.size() < head.length) return;
    if (!transport::CheckFrame(head, AsBytes(message)).ok()) return;
  }
}

void Prefaces(Input input) {
  const auto kind = static_cast<SocketKind>(1 + input.Number(1) % 2);
  const auto role = static_cast<SocketSide>(1 + input.Number(1) % 2);
  const absl::string_view bytes = input.Bytes(transport::kPrefaceBytes);
  Preface preface = {};
  std::memcpy(&preface, bytes.data(), bytes.size());
  const absl::Status checked =
      transport::CheckPreface(preface, bytes.size(), kind, role);
  if (bytes.size() == transport::kPrefaceBytes && checked.ok()) {
    CHECK_EQ(preface.kind, static_cast<uint16_t>(kind));
    CHECK_EQ(preface.role, static_cast<uint32_t>(role));
  }
}

// A ring that its writer, the peer, may change between any two polls.
class HostileFeed final : public transport::RingFeed {
 public:
  uint64_t Published() override { return published; }
  void Acknowledge(uint64_t head, bool) override {
    CHECK_GE(head, acknowledged);
    acknowledged = head;
  }
  uint64_t published = 0;
  uint64_t acknowledged = 0;
};

void Rings(Input input) {
  std::vector<std::byte> ring(kRingBytes);
  HostileFeed feed;
  RingReceiver receiver(ring, kMaxMessage, &feed);
  while (!input.empty()) {
    const size_t at = input.Number(2) % kRingBytes;
    const absl::string_view bytes = input.Bytes(input.Number(2) % kRingBytes);
    std::memcpy(ring.data() + at, bytes.data(),
                std::min(bytes.size(), kRingBytes - at));
    const uint64_t step = input.Number(2);
    feed.published = step == 0xffff ? input.Number(8) : feed.published + step;
    const auto polled =
        receiver.Poll(8, [](absl::Span<const std::byte> message) {
          CHECK_LE(message.size(), kMaxMessage);
          return true;
        });
    CHECK_LE(receiver.head() - feed.acknowledged, kRingBytes);
    if (!polled.ok()) return;
  }
}

// The writer's end, with acknowledgements of a peer that it does not trust.
void Positions(Input input) {
  RingWriter writer(kRingBytes);
  while (!input.empty()) {
    const auto place = writer.Reserve(input.Number(2) % kMaxMessage);
    CHECK_LE(writer.unacked(), kRingBytes);
    if (place.has_value()) {
      CHECK_EQ(*place % transport::kRingAlignment, 0u);
    }
    const auto immediate = static_cast<uint32_t>(input.Number(4));
    const uint64_t last = writer.tail() - writer.unacked();
    const uint64_t position = input.Number(1) % 4 == 0
                                  ? input.Number(8)
                                  : transport::PositionAfter(last, immediate);
    if (!writer.Ack(position).ok()) return;
    CHECK_LE(position, writer.tail());
  }
}

void Run(absl::string_view bytes) {
  Input input(bytes);
  switch (input.Number(1) % 4) {
    case 0:
      return Frames(input);
    case 1:
      return Prefaces(input);
    case 2:
      return Rings(input);
    default:
      return Positions(input);
  }
}

std::string FrameSeed() {
  std::string bytes(1, '\0');
  for (const size_t length : {size_t{0}, size_t{5}, size_t{300}, kMaxMessage}) {
    const std::string message(length, 'm');
    const FrameHead head = transport::MakeFrameHead(AsBytes(message), {});
    bytes.append(reinterpret_cast<const char*>(&head), sizeof(head));
    bytes += message;
  }
  return bytes;
}

std::string PrefaceSeed() {
  std::string bytes("\1\1\1");
  const Preface preface =
      transport::MakePreface(SocketKind::kShm, SocketSide::kAcceptor, 4096, 0);
  bytes.append(reinterpret_cast<const char*>(&preface), sizeof(preface));
  return bytes;
}

std::string RingSeed() {
  std::string bytes("\2");
  RingWriter writer(kRingBytes);
  std::vector<std::byte> ring(kRingBytes);
  for (const size_t length : {10, 700, 2000, 900}) {
    const std::string message(length, 'r');
    const auto position = writer.Reserve(length);
    if (!position.has_value()) break;
    transport::FillRecord(absl::MakeSpan(ring), *position, AsBytes(message),
                          {});
    const size_t size = writer.tail() - *position;
    AppendNumber(*position % kRingBytes, 2, &bytes);
    AppendNumber(size, 2, &bytes);
    bytes.append(reinterpret_cast<const char*>(ring.data()) + *position, size);
    AppendNumber(size, 2, &bytes);
  }
  return bytes;
}

std::string PositionSeed() {
  std::string bytes("\3");
  uint64_t tail = 0;
  for (int i = 0; i < 40; ++i) {
    AppendNumber(100, 2, &bytes);
    tail += transport::RecordBytes(100);
    AppendNumber(transport::EncodeNotice(Notice::kHead, tail), 4, &bytes);
    AppendNumber(1, 1, &bytes);
  }
  return bytes;
}

std::vector<std::string> Seeds() {
  return {FrameSeed(), PrefaceSeed(), RingSeed(), PositionSeed()};
}

}  // namespace

Target LinkTarget() { return {"link", Run, Seeds, MutateBytes}; }

}  // namespace kamino::fuzz
