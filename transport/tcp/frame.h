// The header of each message on a TCP link; docs/formats/link.md, "Frame".
#ifndef KAMINO_TRANSPORT_TCP_FRAME_H_
#define KAMINO_TRANSPORT_TCP_FRAME_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace kamino::transport {

// On the wire; never change it.
inline constexpr uint32_t kFrameMagic = 0x4d72466b;  // "kFrM"

// Little-endian, no padding.
struct FrameHead {
  uint32_t magic;
  uint32_t length;    // bytes of the message that follows
  uint64_t checksum;  // XXH3-64 of the message, seeded with its length
};
inline constexpr size_t kFrameHeadBytes = 16;
static_assert(sizeof(FrameHead) == kFrameHeadBytes);
static_assert(offsetof(FrameHead, length) == 4);
static_assert(offsetof(FrameHead, checksum) == 8);

// For the message that is `first` followed by `second`.
FrameHead MakeFrameHead(absl::Span<const std::byte> first,
                        absl::Span<const std::byte> second);

// kDataLoss: no frame begins here, or it is over the limit. To be called before
// the message has arrived, so that a bad length allocates nothing.
absl::Status CheckFrameHead(const FrameHead& head, size_t max_message);

// kDataLoss: the message is not the one that was sent.
absl::Status CheckFrame(const FrameHead& head,
                        absl::Span<const std::byte> message);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_TCP_FRAME_H_
