// Which bytes of a log ring hold which entries. It knows nothing of the bytes
// themselves.
//
// The kept entries are (cleaned, received]. Space of a cleaned entry is
// reclaimable: it is reused only once `cleaned` is durable past it.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_LOG_RING_SPACE_H_
#define KAMINO_REPLICA_LOG_RING_SPACE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace kamino::replica {

// An entry in the ring. Offsets are from the start of the region.
struct RingSlot {
  uint64_t offset;  // of the slot's header
  uint32_t length;  // of the entry
  uint64_t space;   // padded bytes in the ring, including a wrap before it
  uint64_t first;
  uint64_t last;
  uint64_t begin;  // start of its space, including entries it replaces
};

// Bytes of an entry's slot, with its header and padding.
uint64_t PaddedSlotBytes(uint64_t length);

class RingSpace {
 public:
  // `capacity`: bytes for entries, behind the ring's header.
  explicit RingSpace(uint64_t capacity) : capacity_(capacity) {}

  uint64_t received() const {
    return entries_.empty() ? cleaned_ : entries_.back().last;
  }
  uint64_t cleaned() const { return cleaned_; }
  bool empty() const { return entries_.empty(); }
  const RingSlot& back() const { return entries_.back(); }
  // The slot of the entry that covers `sequence`.
  const RingSlot& SlotOf(uint64_t sequence) const;
  // Whether a cursor may stand here: it is cleaned(), or ends an entry.
  bool EndsEntry(uint64_t sequence) const;

  uint64_t used() const { return used_; }
  uint64_t total() const { return capacity_; }
  uint64_t max_entry() const { return capacity_ / 4; }
  uint64_t reclaimable() const { return reclaimable_; }
  // How often appended entries have been replaced or dropped. While it is
  // unchanged, entries are as they were appended.
  uint64_t rewrites() const { return rewrites_; }

  // No entries; the next one follows `cleaned` and lies at `offset`.
  void Restart(uint64_t cleaned, uint64_t offset);

  struct Placement {
    uint64_t offset;
    uint64_t space;
  };
  // Where an entry of `bytes` (PaddedSlotBytes) would go. Nothing: it does not
  // fit now.
  std::optional<Placement> Place(uint64_t bytes) const;
  uint64_t write_offset() const { return write_offset_; }
  // The slot of the next entry, or of one with the numbers of the last, which
  // it replaces.
  void Add(RingSlot slot);
  // Returns the offsets of the last entry and of those that it has replaced,
  // the newest first.
  std::vector<uint64_t> DropLast();

  // `sequence` ends an entry.
  void CleanTo(uint64_t sequence);
  // The offset of the oldest kept entry, or of the next one.
  uint64_t oldest() const {
    return entries_.empty() ? write_offset_ : entries_.front().offset;
  }
  // cleaned() is durable.
  void Reclaim() { reclaimable_ = 0; }

 private:
  const uint64_t capacity_;
  std::deque<RingSlot> entries_;  // (cleaned, received]
  uint64_t cleaned_ = 0;
  uint64_t write_offset_ = 0;  // where the next entry goes
  uint64_t used_ = 0;          // space of entries_
  uint64_t reclaimable_ = 0;   // cleaned, not yet durably so
  // Offsets of entries that the last entry has replaced.
  std::vector<uint64_t> replaced_;
  uint64_t rewrites_ = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LOG_RING_SPACE_H_
