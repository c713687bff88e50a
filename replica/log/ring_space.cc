#include "replica/log/ring_space.h"

#include <algorithm>
#include <utility>

#include "glog/logging.h"
#include "replica/log/ring_format.h"

namespace kamino::replica {

using ring_format::kEntryAlignment;
using ring_format::kHeaderBytes;

uint64_t PaddedSlotBytes(uint64_t length) {
  const uint64_t bytes = sizeof(ring_format::SlotHeader) + length;
  return (bytes + kEntryAlignment - 1) / kEntryAlignment * kEntryAlignment;
}

const RingSlot& RingSpace::SlotOf(uint64_t sequence) const {
  CHECK_GT(sequence, cleaned_);
  CHECK_LE(sequence, received());
  return *std::lower_bound(
      entries_.begin(), entries_.end(), sequence,
      [](const RingSlot& slot, uint64_t wanted) { return slot.last < wanted; });
}

bool RingSpace::EndsEntry(uint64_t sequence) const {
  if (sequence == cleaned_) return true;
  return sequence > cleaned_ && sequence <= received() &&
         SlotOf(sequence).last == sequence;
}

void RingSpace::Restart(uint64_t cleaned, uint64_t offset) {
  entries_.clear();
  ++rewrites_;
  cleaned_ = cleaned;
  write_offset_ = offset;
  used_ = reclaimable_ = 0;
}

std::optional<RingSpace::Placement> RingSpace::Place(uint64_t bytes) const {
  const uint64_t to_end = kHeaderBytes + capacity_ - write_offset_;
  Placement placement{write_offset_, bytes};
  if (bytes > to_end) placement = {kHeaderBytes, bytes + to_end};
  if (used_ + reclaimable_ + placement.space > capacity_) return std::nullopt;
  return placement;
}

void RingSpace::Add(RingSlot slot) {
  used_ += slot.space;
  write_offset_ = slot.offset + PaddedSlotBytes(slot.length);
  if (!entries_.empty() && entries_.back().first == slot.first) {
    const RingSlot& old = entries_.back();
    replaced_.push_back(old.offset);
    ++rewrites_;
    slot.space += old.space;
    slot.begin = old.begin;
    entries_.pop_back();
  } else {
    replaced_.clear();
  }
  entries_.push_back(slot);
}

std::vector<uint64_t> RingSpace::DropLast() {
  const RingSlot slot = entries_.back();
  std::vector<uint64_t> offsets = std::exchange(replaced_, {});
  offsets.push_back(slot.offset);
  std::reverse(offsets.begin(), offsets.end());
  ++rewrites_;
  // Includes space that a wrap before it left unused.
  write_offset_ = slot.begin;
  used_ -= slot.space;
  entries_.pop_back();
  return offsets;
}

void RingSpace::CleanTo(uint64_t sequence) {
  while (cleaned_ < sequence) {
    used_ -= entries_.front().space;
    reclaimable_ += entries_.front().space;
    cleaned_ = entries_.front().last;
    entries_.pop_front();
  }
}

}  // namespace kamino::replica
