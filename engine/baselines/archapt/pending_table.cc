#include "engine/baselines/archapt/pending_table.h"

#include <algorithm>
#include <utility>

#include "engine/baselines/archapt/matrix.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

// Bits of a hash by which objects are told apart: several for each object that
// may be pending in a full queue.
int MarkBits(uint64_t queue_bytes) {
  constexpr uint64_t kBytesOfMark = 256;
  int bits = 12;
  while (bits < 18 && queue_bytes / kBytesOfMark >> bits != 0) ++bits;
  return bits;
}

}  // namespace

PendingTable::PendingTable(uint64_t queue_bytes)
    : mark_shift_(64 - MarkBits(queue_bytes)),
      marks_(new Mark[size_t{1} << MarkBits(queue_bytes)]()) {}

// Others only look.
void PendingTable::Count(ObjectId id, int64_t by) {
  Mark& mark = MarkOf(id);
  mark.store(static_cast<uint32_t>(mark.load(std::memory_order_relaxed) + by),
             std::memory_order_relaxed);
}

void PendingTable::Erase(ObjectEntry* entry) {
  Count(entry->id, entry->pending != nullptr ? -int64_t{kPending} - 1 : -1);
  entries_.erase(entry->id);
  entry->pending = nullptr;
  entry->state = MatrixState::kNone;
  entry->matrix = nullptr;
  entry->lines.clear();
  spare_.push_back(entry);
}

// --- What is pending.

void PendingTable::SetPending(const Access& object, PendingCommit* commit,
                              LineRanges lines) {
  ObjectEntry*& entry = entries_[object.id];
  CHECK(entry == nullptr) << "object " << object.id
                          << " is pending or in a matrix";
  if (spare_.empty()) {
    entry = &pool_.emplace_back();
  } else {
    entry = spare_.back();
    spare_.pop_back();
  }
  entry->id = object.id;
  entry->bytes = object.bytes;
  entry->pending = commit;
  entry->lines = std::move(lines);
  Count(object.id, int64_t{kPending} + 1);
}

LineRanges PendingTable::TakePending(ObjectEntry* entry) {
  StopWaiting(entry);
  LineRanges lines = std::move(entry->lines);
  Erase(entry);
  return lines;
}

// --- Those that wait for a matrix, and those that are in one.

size_t PendingTable::SizeOf(const ObjectEntry& entry) {
  uint64_t lines = LinesFor(entry.bytes);
  size_t size = 0;
  while (lines > 1) {
    lines = (lines + 1) / 2;
    ++size;
  }
  return size;
}

void PendingTable::Wait(ObjectEntry* entry) {
  entry->state = MatrixState::kWaiting;
  waiting_[SizeOf(*entry)].push_back(entry);
}

void PendingTable::StopWaiting(ObjectEntry* entry) {
  if (entry->state != MatrixState::kWaiting) return;
  entry->state = MatrixState::kNone;
  auto& waiting = waiting_[SizeOf(*entry)];
  waiting.erase(std::find(waiting.begin(), waiting.end(), entry));
}

std::vector<ObjectEntry*> PendingTable::TakeWaiting(size_t count) {
  for (auto& waiting : waiting_) {
    if (waiting.size() < count) continue;
    std::vector<ObjectEntry*> taken(waiting.begin(), waiting.begin() + count);
    waiting.erase(waiting.begin(), waiting.begin() + count);
    for (ObjectEntry* entry : taken) entry->state = MatrixState::kSealing;
    return taken;
  }
  return {};
}

void PendingTable::Seal(ObjectEntry* entry) {
  entry->state = MatrixState::kSealed;
  entry->pending = nullptr;
  Count(entry->id, -int64_t{kPending});
}

}  // namespace kamino::engine
