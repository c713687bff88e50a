#include "transport/verbs/ring_copy.h"

#include <algorithm>
#include <utility>

#include "transport/ring/ring.h"

namespace kamino::transport {

RingCopy::RingCopy(RegisteredMemory copy, size_t max_write, size_t max_inline)
    : copy_(std::move(copy)),
      max_write_(max_write),
      max_inline_(max_inline),
      ring_bytes_(copy_.memory.bytes().size()) {}

void RingCopy::Connect(size_t ring_bytes, uint64_t address, uint32_t key) {
  ring_bytes_ = ring_bytes;
  peer_ring_ = address;
  peer_key_ = key;
}

void RingCopy::Add(uint64_t position, absl::Span<const std::byte> first,
                   absl::Span<const std::byte> second) {
  FillRecord(copy_.memory.bytes().first(ring_bytes_), position, first, second);
  added_position_ = position + RecordBytes(first.size() + second.size());
}

RingCopy::Pieces RingCopy::CutRecords() const {
  const RingExtent at =
      LocateInRing(ring_bytes_, posted_position_,
                   static_cast<size_t>(added_position_ - posted_position_));
  Pieces pieces;
  size_t offset = at.first_offset;
  for (size_t left : {at.first_length, at.second_length}) {
    while (left != 0) {
      RdmaWrite& write = pieces.emplace_back();
      const size_t length = std::min(left, max_write_);
      write.from = copy_.memory.bytes().subspan(offset, length);
      write.local_key = copy_.keys.local;
      write.to = peer_ring_ + offset;
      write.remote_key = peer_key_;
      write.inlined = length <= max_inline_;
      offset += length;
      left -= length;
    }
    offset = 0;
  }
  return pieces;
}

uint64_t RingCopy::CountPosted() {
  posted_position_ = added_position_;
  tails_.push_back(posted_position_);
  return posted_position_;
}

void RingCopy::OnHead(uint64_t position) {
  while (!tails_.empty() && tails_.front() <= position) tails_.pop_front();
}

RdmaWrite RingCopy::EmptyWrite() const {
  RdmaWrite write;
  write.to = peer_ring_;
  write.remote_key = peer_key_;
  return write;
}

}  // namespace kamino::transport
