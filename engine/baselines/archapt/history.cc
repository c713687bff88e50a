#include "engine/baselines/archapt/history.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "engine/baselines/archapt/matrix.h"
#include "glog/logging.h"

namespace kamino::engine {

LineRanges MergeRanges(LineRanges ranges) {
  std::sort(
      ranges.begin(), ranges.end(),
      [](const LineRange& a, const LineRange& b) { return a.first < b.first; });
  LineRanges merged;
  for (const LineRange& range : ranges) {
    if (!merged.empty() && range.first <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

uint64_t CountLines(const LineRanges& ranges) {
  uint64_t lines = 0;
  for (const LineRange& range : ranges) lines += range.end - range.first;
  return lines;
}

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

History::History(uint64_t queue_bytes)
    : queue_bytes_(queue_bytes),
      mark_shift_(64 - MarkBits(queue_bytes)),
      marks_(new std::atomic<uint32_t>[size_t{1} << MarkBits(queue_bytes)]()),
      pending_(
          new std::atomic<uint32_t>[size_t{1} << MarkBits(queue_bytes)]()) {}

void History::Count(const ObjectEntry& entry, int by) {
  if (entry.marked()) marks_[MarkOf(entry.id)].fetch_add(by);
}

ObjectEntry* History::Get(ObjectId id) {
  auto& entry = entries_[id];
  if (entry == nullptr) {
    entry = absl::make_unique<ObjectEntry>();
    entry->id = id;
  }
  return entry.get();
}

// --- The queue.

void History::Unlink(ObjectEntry* entry) {
  if (!entry->queued) return;
  (entry->newer != nullptr ? entry->newer->older : newest_) = entry->older;
  (entry->older != nullptr ? entry->older->newer : oldest_) = entry->newer;
  entry->newer = entry->older = nullptr;
  entry->queued = false;
  queued_bytes_ -= LinesFor(entry->bytes) * 64;
}

void History::Touch(ObjectId id, uint32_t bytes) {
  ObjectEntry* const entry = Get(id);
  Unlink(entry);
  // Of one that is marked they are known better: another object may have had
  // that id when it was accessed.
  if (!entry->marked()) entry->bytes = bytes;
  entry->queued = true;
  entry->older = newest_;
  if (newest_ != nullptr) newest_->newer = entry;
  newest_ = entry;
  if (oldest_ == nullptr) oldest_ = entry;
  queued_bytes_ += LinesFor(entry->bytes) * 64;
}

ObjectEntry* History::TakeOverflow() {
  if (queued_bytes_ <= queue_bytes_) return nullptr;
  ObjectEntry* const entry = oldest_;
  Unlink(entry);
  return entry;
}

// --- What is pending.

void History::SetPending(ObjectId id, uint32_t bytes, PendingCommit* commit,
                         LineRanges lines) {
  Touch(id, bytes);
  ObjectEntry* const entry = Find(id);
  CHECK(!entry->marked()) << "object " << id << " is pending or in a matrix";
  entry->pending = commit;
  entry->lines = std::move(lines);
  Count(*entry, 1);
  pending_[MarkOf(id)].fetch_add(1);
}

void History::TakePending(ObjectEntry* entry, LineRanges* lines) {
  Count(*entry, -1);
  pending_[MarkOf(entry->id)].fetch_sub(1);
  StopWaiting(entry);
  entry->pending = nullptr;
  lines->assign(entry->lines.begin(), entry->lines.end());
  entry->lines.clear();
}

void History::Skip(ObjectEntry* entry) {
  entry->pending = nullptr;
  pending_[MarkOf(entry->id)].fetch_sub(1);
}

// --- Those that wait for a matrix.

size_t History::SizeOf(const ObjectEntry& entry) {
  uint64_t lines = LinesFor(entry.bytes);
  size_t size = 0;
  while (lines > 1) {
    lines = (lines + 1) / 2;
    ++size;
  }
  return size;
}

void History::Wait(ObjectEntry* entry) {
  entry->state = MatrixState::kWaiting;
  waiting_[SizeOf(*entry)].push_back(entry);
}

void History::StopWaiting(ObjectEntry* entry) {
  if (entry->state != MatrixState::kWaiting) return;
  entry->state = MatrixState::kNone;
  auto& waiting = waiting_[SizeOf(*entry)];
  waiting.erase(std::find(waiting.begin(), waiting.end(), entry));
}

std::vector<ObjectEntry*> History::TakeWaiting(size_t count) {
  for (auto& waiting : waiting_) {
    if (waiting.size() < count) continue;
    std::vector<ObjectEntry*> taken(waiting.begin(), waiting.begin() + count);
    waiting.erase(waiting.begin(), waiting.begin() + count);
    for (ObjectEntry* entry : taken) entry->state = MatrixState::kSealing;
    return taken;
  }
  return {};
}

void History::SetState(ObjectEntry* entry, MatrixState state,
                       LiveMatrix* matrix) {
  Count(*entry, -1);
  entry->state = state;
  entry->matrix = matrix;
  Count(*entry, 1);
}

void History::Forget(ObjectId id) {
  ObjectEntry* const entry = Find(id);
  if (entry == nullptr) return;
  CHECK(!entry->marked()) << "object " << id << " is pending or in a matrix";
  Unlink(entry);
  entries_.erase(id);
}

}  // namespace kamino::engine
