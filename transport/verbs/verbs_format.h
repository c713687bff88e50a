// The immediate data of a verbs link; docs/formats/link.md, "Verbs".
#ifndef KAMINO_TRANSPORT_VERBS_VERBS_FORMAT_H_
#define KAMINO_TRANSPORT_VERBS_VERBS_FORMAT_H_

#include <cstddef>
#include <cstdint>

#include "transport/ring/ring_format.h"

namespace kamino::transport {

inline constexpr uint32_t kVerbsVersion = 1;

// These numbers are on the wire; never change them. The top three bits of the
// immediate data.
enum class Notice : uint32_t {
  kTail = 0,    // everything before the position is in the ring
  kHead = 1,    // everything before the position is consumed
  kWant = 2,    // the writer is out of credits; asks for one kAnswer
  kAnswer = 3,  // as kHead; half of the ring is free
  kHello = 4,   // the connector's first: its pair is ready to receive
  kBye = 5,     // the sender's last: it has closed the link
};

// The other bits: the low bits of the position in units of kRingAlignment.
inline constexpr int kPositionBits = 29;
inline constexpr uint32_t kPositionMask = (uint32_t{1} << kPositionBits) - 1;

inline constexpr size_t kLeastVerbsRing = 4096;
// So the low bits of two positions a ring apart differ.
inline constexpr size_t kMostVerbsRing = size_t{1} << 31;
static_assert(kMostVerbsRing / kRingAlignment <= kPositionMask);

inline constexpr uint32_t EncodeNotice(Notice notice, uint64_t position) {
  return static_cast<uint32_t>(notice) << kPositionBits |
         (static_cast<uint32_t>(position / kRingAlignment) & kPositionMask);
}

inline constexpr Notice NoticeOf(uint32_t immediate) {
  return static_cast<Notice>(immediate >> kPositionBits);
}

// The position that `immediate` stands for, given that it is not before `last`.
inline constexpr uint64_t PositionAfter(uint64_t last, uint32_t immediate) {
  const uint32_t ahead =
      (immediate - static_cast<uint32_t>(last / kRingAlignment)) &
      kPositionMask;
  return last + uint64_t{ahead} * kRingAlignment;
}

// Each notice takes one of the peer's posted receives. Counting shows that one
// is always there:
//  kTail   at most kTailSlots are not covered by an acknowledgement;
//  kHead   each covers an eighth of the ring or kTailsPerHead of the peer's
//          kTail; at most all of either are uncovered;
//  others  one of each.
inline constexpr size_t kTailSlots = 128;
inline constexpr size_t kTailsPerHead = kTailSlots / 4;
inline constexpr size_t kHeadSlots = 8 + kTailSlots / kTailsPerHead;
inline constexpr size_t kReceives = kTailSlots + kHeadSlots + 4;

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_VERBS_FORMAT_H_
