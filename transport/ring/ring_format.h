// Constants and layout that both sides of a ring share; docs/formats/link.md,
// "Ring".
#ifndef KAMINO_TRANSPORT_RING_RING_FORMAT_H_
#define KAMINO_TRANSPORT_RING_RING_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace kamino::transport {

// Records start at multiples of this, so that a record's head never wraps.
inline constexpr size_t kRingAlignment = 8;

// Precedes each message in the ring. Little-endian.
struct RecordHead {
  uint32_t length;  // bytes of the message
  // kRecordMark xor the low 32 bits of the record's position: a reader that
  // lost its place does not take old bytes for a record.
  uint32_t mark;
};
static_assert(sizeof(RecordHead) == kRingAlignment);
static_assert(offsetof(RecordHead, mark) == 4);

inline constexpr uint32_t kRecordMark = 0x6b72696e;

// Ring bytes a message of `length` bytes takes.
inline constexpr uint64_t RecordBytes(uint64_t length) {
  return sizeof(RecordHead) +
         (length + kRingAlignment - 1) / kRingAlignment * kRingAlignment;
}

inline constexpr uint32_t RecordMarkAt(uint64_t position) {
  return kRecordMark ^ static_cast<uint32_t>(position);
}

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_RING_RING_FORMAT_H_
