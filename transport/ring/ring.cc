#include "transport/ring/ring.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::transport {
namespace {

constexpr size_t kLeastCapacity = 64;

void CheckCapacity(size_t capacity) {
  CHECK_GE(capacity, kLeastCapacity);
  CHECK_EQ(capacity & (capacity - 1), 0u) << "not a power of two";
}

void CopyIn(absl::Span<std::byte> ring, uint64_t position,
            absl::Span<const std::byte> piece) {
  if (piece.empty()) return;
  const RingExtent at = LocateInRing(ring.size(), position, piece.size());
  std::memcpy(ring.data() + at.first_offset, piece.data(), at.first_length);
  if (at.second_length != 0) {
    std::memcpy(ring.data(), piece.data() + at.first_length, at.second_length);
  }
}

}  // namespace

RingExtent LocateInRing(size_t capacity, uint64_t position, size_t length) {
  DCHECK_LE(length, capacity);
  const size_t offset = static_cast<size_t>(position & (capacity - 1));
  const size_t first = std::min(length, capacity - offset);
  return {offset, first, length - first};
}

RingWriter::RingWriter(size_t capacity) : capacity_(capacity) {
  CheckCapacity(capacity);
}

absl::Status RingWriter::Ack(uint64_t head) {
  if (head == acked_) return absl::OkStatus();
  if (head - acked_ > tail_ - acked_ || head % kRingAlignment != 0) {
    return absl::DataLossError(absl::StrCat("ring acknowledged up to ", head,
                                            ", outside [", acked_, ", ", tail_,
                                            "] or unaligned"));
  }
  acked_ = head;
  return absl::OkStatus();
}

std::optional<uint64_t> RingWriter::Reserve(size_t length) {
  if (!Fits(length)) return std::nullopt;
  const uint64_t position = tail_;
  tail_ += RecordBytes(length);
  return position;
}

void FillRecord(absl::Span<std::byte> ring, uint64_t position,
                absl::Span<const std::byte> first,
                absl::Span<const std::byte> second) {
  const RecordHead head = {static_cast<uint32_t>(first.size() + second.size()),
                           RecordMarkAt(position)};
  CopyIn(ring, position,
         absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&head),
                             sizeof(head)));
  CopyIn(ring, position + sizeof(head), first);
  CopyIn(ring, position + sizeof(head) + first.size(), second);
}

RingReader::RingReader(absl::Span<const std::byte> ring, size_t max_message)
    : ring_(ring), max_message_(max_message) {
  CheckCapacity(ring.size());
}

absl::Status RingReader::Advance(uint64_t tail) {
  if (tail == tail_) return absl::OkStatus();
  // Differences, not sums: a hostile tail must not become valid by an overflow.
  if (tail - head_ < tail_ - head_ || tail - head_ > ring_.size() ||
      tail % kRingAlignment != 0) {
    return absl::DataLossError(
        absl::StrCat("ring published up to ", tail, ", outside [", tail_, ", ",
                     head_ + ring_.size(), "] or unaligned"));
  }
  tail_ = tail;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<absl::Span<const std::byte>>> RingReader::Pop() {
  if (head_ == tail_) {
    return std::optional<absl::Span<const std::byte>>();
  }
  // Read once: the peer may change it between a check and a use. Invariant 1
  // leaves at least one record head to read.
  RecordHead head;
  CopyOut(head_, reinterpret_cast<std::byte*>(&head), sizeof(head));
  if (head.mark != RecordMarkAt(head_)) {
    return absl::DataLossError(
        absl::StrCat("no record at ring position ", head_));
  }
  if (head.length > max_message_ || RecordBytes(head.length) > unread()) {
    return absl::DataLossError(absl::StrCat("ring record of ", head.length,
                                            " bytes; limit ", max_message_,
                                            ", ", unread(), " published"));
  }
  if (head.length > copy_capacity_) {
    const size_t doubled = std::max<size_t>(2 * copy_capacity_, 4096);
    copy_capacity_ =
        std::max<size_t>(head.length, std::min(doubled, max_message_));
    copy_.reset(new std::byte[copy_capacity_]);
  }
  CopyOut(head_ + sizeof(head), copy_.get(), head.length);
  head_ += RecordBytes(head.length);
  return std::optional<absl::Span<const std::byte>>(
      absl::MakeConstSpan(copy_.get(), head.length));
}

void RingReader::CopyOut(uint64_t position, std::byte* to,
                         size_t length) const {
  if (length == 0) return;
  const RingExtent at = LocateInRing(ring_.size(), position, length);
  std::memcpy(to, ring_.data() + at.first_offset, at.first_length);
  if (at.second_length != 0) {
    std::memcpy(to + at.first_length, ring_.data(), at.second_length);
  }
}

}  // namespace kamino::transport
