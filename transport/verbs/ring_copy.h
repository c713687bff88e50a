// This side's copy of the ring that the peer reads: records are laid out in it
// at the place that they will have in the peer's ring, and RDMA writes carry
// them there.
//
// Invariant: the copy's bytes do not change from the post of their writes to
// the completion. The caller adds no record over bytes that are in transit.
//
// Not thread-safe. Owns the copy's memory, which must outlive the pair that it
// is registered with.
#ifndef KAMINO_TRANSPORT_VERBS_RING_COPY_H_
#define KAMINO_TRANSPORT_VERBS_RING_COPY_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "transport/verbs/device.h"
#include "transport/verbs/pinned_memory.h"
#include "transport/verbs/verbs_format.h"

namespace kamino::transport {

// Memory that a pair may use.
struct RegisteredMemory {
  PinnedMemory memory;
  MemoryKeys keys;
};

class RingCopy {
 public:
  // Largest number of writes for the records of one notice.
  static constexpr size_t kMostPieces = 10;
  // Usually one.
  using Pieces = absl::InlinedVector<RdmaWrite, kMostPieces>;

  // A write has at most `max_write` bytes, and an inlined one `max_inline`.
  RingCopy(RegisteredMemory copy, size_t max_write, size_t max_inline);

  // The peer's ring, of at most the copy's size, is at `address`.
  void Connect(size_t ring_bytes, uint64_t address, uint32_t key);
  // The copy's size, and from Connect on the ring's.
  size_t ring_bytes() const { return ring_bytes_; }

  // Lays a record out at `position`.
  void Add(uint64_t position, absl::Span<const std::byte> first,
           absl::Span<const std::byte> second);
  // Records are added and not posted, and the peer has room for their notice.
  bool MayPost() const {
    return posted_position_ != added_position_ && tails_.size() < kTailSlots;
  }
  // The records that are added and not posted, as writes.
  Pieces CutRecords() const;
  // All added records are posted, with one notice. Returns its position.
  uint64_t CountPosted();
  uint64_t posted_position() const { return posted_position_; }
  // The peer has consumed everything before `position`.
  void OnHead(uint64_t position);

  // A write that moves nothing.
  RdmaWrite EmptyWrite() const;

 private:
  const RegisteredMemory copy_;
  const size_t max_write_;
  const size_t max_inline_;
  size_t ring_bytes_;
  // Constant after Connect.
  uint64_t peer_ring_ = 0;
  uint32_t peer_key_ = 0;

  // Positions up to which records were laid out and posted.
  uint64_t added_position_ = 0;
  uint64_t posted_position_ = 0;
  std::deque<uint64_t> tails_;  // of notices that are not acknowledged
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_RING_COPY_H_
