// The two ends of a byte ring in the receiver's memory. The ends handle only
// positions and bytes; the link moves them (stores to shared memory, RDMA
// writes).
//
// A position counts bytes since the ring was made and never wraps; it lies in
// the ring at position modulo capacity. head: the reader has consumed
// everything before it; the cumulative acknowledgement, and so the writer's
// credits. tail: the writer has published everything before it.
//
// Invariants:
//   1. head <= tail <= head + capacity; all are multiples of kRingAlignment.
//   2. A tail is published only when everything before it is in the ring, so
//      a reader finds whole records only.
//   3. The peer is not trusted: each end keeps its own state, checks the peer's
//      claims against it, and never touches a byte outside the ring.
//
// Neither class is thread-safe.
#ifndef KAMINO_TRANSPORT_RING_RING_H_
#define KAMINO_TRANSPORT_RING_RING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/ring/ring_format.h"

namespace kamino::transport {

// A range of positions, cut where the ring wraps. The second piece starts at
// offset 0 and is empty unless it does.
struct RingExtent {
  size_t first_offset;
  size_t first_length;
  size_t second_length;
};

// `capacity` is a power of two and at least `length`.
RingExtent LocateInRing(size_t capacity, uint64_t position, size_t length);

class RingWriter {
 public:
  // `capacity` in bytes, a power of two of at least 64.
  explicit RingWriter(size_t capacity);

  // The reader has consumed everything before `head`. kDataLoss: it cannot
  // have.
  absl::Status Ack(uint64_t head);

  // Whether credits suffice for a message of `length` bytes.
  bool Fits(size_t length) const {
    return RecordBytes(length) <= capacity_ - unacked();
  }

  // Takes room for a record of a message of `length` bytes and returns its
  // position; nothing when credits do not suffice.
  std::optional<uint64_t> Reserve(size_t length);

  // Where the next record goes; what to publish once the reserved ones are
  // filled.
  uint64_t tail() const { return tail_; }
  size_t unacked() const { return static_cast<size_t>(tail_ - acked_); }
  size_t capacity() const { return capacity_; }

 private:
  const size_t capacity_;
  uint64_t tail_ = 0;
  uint64_t acked_ = 0;
};

// Lays the record (head, then both pieces) out in `ring` at `position`, which
// RingWriter::Reserve returned for the pieces' total length.
void FillRecord(absl::Span<std::byte> ring, uint64_t position,
                absl::Span<const std::byte> first,
                absl::Span<const std::byte> second);

class RingReader {
 public:
  // Reads from `ring`, whose bytes the peer may change at any time and which
  // must outlive the reader. A record over `max_message` bytes is an error.
  RingReader(absl::Span<const std::byte> ring, size_t max_message);

  // The writer has published everything before `tail`. kDataLoss: it cannot
  // have.
  absl::Status Advance(uint64_t tail);

  // Consumes the next message and returns a copy, stable until the next call;
  // nothing when all were consumed. kDataLoss: the record is malformed; the
  // ring is of no further use.
  absl::StatusOr<std::optional<absl::Span<const std::byte>>> Pop();

  // The position to acknowledge to the writer.
  uint64_t head() const { return head_; }
  // Published and not consumed, bytes.
  size_t unread() const { return static_cast<size_t>(tail_ - head_); }

 private:
  void CopyOut(uint64_t position, std::byte* to, size_t length) const;

  const absl::Span<const std::byte> ring_;
  const size_t max_message_;
  uint64_t head_ = 0;
  uint64_t tail_ = 0;
  // Grown to the largest message seen.
  std::unique_ptr<std::byte[]> copy_;
  size_t copy_capacity_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_RING_RING_H_
