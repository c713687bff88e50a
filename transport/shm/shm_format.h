// The memory that the two ends of a shared-memory link share;
// docs/formats/link.md, "Shared memory".
#ifndef KAMINO_TRANSPORT_SHM_SHM_FORMAT_H_
#define KAMINO_TRANSPORT_SHM_SHM_FORMAT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace kamino::transport {

inline constexpr size_t kCacheLine = 64;

// One direction's indexes. In the common case only one side writes to each
// cache line, so the sides do not contend for it.
struct RingControl {
  alignas(kCacheLine) std::atomic<uint64_t> tail;  // by the writer
  alignas(kCacheLine) std::atomic<uint64_t> head;  // by the reader
  // One: the reader sleeps and wants a doorbell when tail moves. The side that
  // resets it to zero rings.
  alignas(kCacheLine) std::atomic<uint32_t> reader_asleep;
  // One: the writer is out of credits and wants a doorbell when head moves.
  alignas(kCacheLine) std::atomic<uint32_t> writer_waiting;
};
static_assert(sizeof(RingControl) == 4 * kCacheLine);
static_assert(offsetof(RingControl, head) == kCacheLine);
static_assert(offsetof(RingControl, reader_asleep) == 2 * kCacheLine);
static_assert(offsetof(RingControl, writer_waiting) == 3 * kCacheLine);
static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<uint32_t>::is_always_lock_free);

// At offset 0 of the memory file.
struct SharedControl {
  RingControl to_acceptor;
  RingControl to_connector;
};
static_assert(sizeof(SharedControl) == 8 * kCacheLine);

// The ring to the acceptor, then the ring to the connector.
inline constexpr size_t kRingDataOffset = 4096;
static_assert(sizeof(SharedControl) <= kRingDataOffset);

inline constexpr size_t kLeastRingBytes = 4096;
inline constexpr size_t kMostRingBytes = size_t{1} << 31;

// Bytes of a memory file of two rings of `ring_bytes` each.
inline constexpr size_t SharedBytes(size_t ring_bytes) {
  return kRingDataOffset + 2 * ring_bytes;
}

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SHM_SHM_FORMAT_H_
