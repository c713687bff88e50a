#include "lab/archapt/access_queue.h"

#include <algorithm>

#include "lab/archapt/matrix.h"

namespace kamino::engine {

// --- The queue.

void AccessQueue::Unlink(uint32_t at) {
  Entry& entry = entries_[at];
  (entry.newer != kNone ? entries_[entry.newer].older : newest_) = entry.older;
  (entry.older != kNone ? entries_[entry.older].newer : oldest_) = entry.newer;
  entry.newer = entry.older = kNone;
  bytes_ -= uint64_t{entry.lines} * 64;
}

void AccessQueue::Link(uint32_t at) {
  Entry& entry = entries_[at];
  entry.older = newest_;
  (newest_ != kNone ? entries_[newest_].newer : oldest_) = at;
  newest_ = at;
  bytes_ += uint64_t{entry.lines} * 64;
}

void AccessQueue::Touch(const Access& access) {
  const auto [place, inserted] = places_.try_emplace(access.id, kNone);
  if (!inserted) {
    Unlink(place->second);
  } else if (!free_.empty()) {
    place->second = free_.back();
    free_.pop_back();
  } else {
    place->second = static_cast<uint32_t>(entries_.size());
    entries_.emplace_back();
  }
  Entry& entry = entries_[place->second];
  entry.id = access.id;
  entry.lines = static_cast<uint32_t>(LinesFor(access.bytes));
  Link(place->second);
}

ObjectId AccessQueue::TakeOverflow() {
  if (bytes_ <= limit_) return kNullObject;
  const ObjectId id = entries_[oldest_].id;
  Remove(id);
  return id;
}

void AccessQueue::Remove(ObjectId id) {
  const auto place = places_.find(id);
  if (place == places_.end()) return;
  Unlink(place->second);
  free_.push_back(place->second);
  places_.erase(place);
}

// --- On the way there.

void AccessNotes::Add(const Access& access) {
  const uint64_t takes = takes_.load(std::memory_order_relaxed);
  std::atomic<uint64_t>& recent =
      recent_[(access.id >> 6) * 0x9e3779b97f4a7c15ull >> kRecentShift];
  const uint64_t note = access.id << 8 | (takes & 0xff);
  if (recent.load(std::memory_order_relaxed) == note) return;
  recent.store(note, std::memory_order_relaxed);
  const uint64_t at = head_.fetch_add(1, std::memory_order_relaxed);
  notes_[at % kNotes].store(
      access.id >> 6 << kLinesBits | LinesFor(access.bytes),
      std::memory_order_release);
}

void AccessNotes::Take(std::vector<Access>* accesses) {
  accesses->clear();
  takes_.fetch_add(1, std::memory_order_relaxed);
  const uint64_t end = head_.load(std::memory_order_acquire);
  uint64_t at = tail_.load(std::memory_order_relaxed);
  if (end - at > kNotes) at = end - kNotes;
  for (; at < end; ++at) {
    // Nothing: it is being noted just now.
    const uint64_t note =
        notes_[at % kNotes].exchange(0, std::memory_order_acquire);
    if (note == 0) continue;
    constexpr uint64_t kLines = (uint64_t{1} << kLinesBits) - 1;
    accesses->push_back(
        {note >> kLinesBits << 6, static_cast<uint32_t>(note & kLines) * 64});
  }
  tail_.store(end, std::memory_order_relaxed);
}

}  // namespace kamino::engine
