#include "lab/archapt/pending_table.h"

#include <algorithm>
#include <utility>

#include "glog/logging.h"
#include "lab/archapt/matrix.h"

namespace kamino::engine {
namespace {

// Bits of the hash: several buckets for each object that may be pending in a
// full queue.
int BucketBits(uint64_t queue_bytes) {
  constexpr uint64_t kBytesOfBucket = 256;
  int bits = 12;
  while (bits < 18 && queue_bytes / kBytesOfBucket >> bits != 0) ++bits;
  return bits;
}

}  // namespace

PendingTable::PendingTable(uint64_t queue_bytes)
    : bucket_shift_(64 - BucketBits(queue_bytes)),
      buckets_(new Bucket[size_t{1} << BucketBits(queue_bytes)]()) {}

void PendingTable::Erase(ObjectEntry* entry) {
  Bucket& bucket = BucketOf(entry->id);
  ObjectEntry* before = bucket.load(std::memory_order_relaxed);
  if (before == entry) {
    bucket.store(entry->next, std::memory_order_relaxed);
  } else {
    while (before->next != entry) before = before->next;
    before->next = entry->next;
  }
  entry->id = kNullObject;
  entry->pending = nullptr;
  entry->state = MatrixState::kNone;
  entry->matrix = nullptr;
  entry->lines.clear();
  spare_.push_back(entry);
}

// --- What is pending.

void PendingTable::SetPending(const Access& object, PendingCommit* commit,
                              LineRanges lines) {
  CHECK(Find(object.id) == nullptr)
      << "object " << object.id << " is pending or in a matrix";
  ObjectEntry* entry;
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
  Bucket& bucket = BucketOf(object.id);
  entry->next = bucket.load(std::memory_order_relaxed);
  bucket.store(entry, std::memory_order_relaxed);
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

void PendingTable::Wait(ObjectEntry* entry, uint64_t now) {
  entry->state = MatrixState::kWaiting;
  waiting_[SizeOf(*entry)].push_back({entry, now});
}

ObjectEntry* PendingTable::WaitsSince(uint64_t then) const {
  for (const auto& waiting : waiting_) {
    if (!waiting.empty() && waiting.front().since <= then) {
      return waiting.front().entry;
    }
  }
  return nullptr;
}

void PendingTable::StopWaiting(ObjectEntry* entry) {
  if (entry->state != MatrixState::kWaiting) return;
  entry->state = MatrixState::kNone;
  auto& waiting = waiting_[SizeOf(*entry)];
  waiting.erase(
      std::find_if(waiting.begin(), waiting.end(),
                   [&](const Waiting& one) { return one.entry == entry; }));
}

std::vector<ObjectEntry*> PendingTable::TakeWaiting(size_t count) {
  for (auto& waiting : waiting_) {
    if (waiting.size() < count) continue;
    std::vector<ObjectEntry*> taken;
    for (size_t i = 0; i < count; ++i) {
      taken.push_back(waiting[i].entry);
      taken.back()->state = MatrixState::kSealing;
    }
    waiting.erase(waiting.begin(), waiting.begin() + count);
    return taken;
  }
  return {};
}

void PendingTable::Seal(ObjectEntry* entry) {
  entry->state = MatrixState::kSealed;
  entry->pending = nullptr;
}

}  // namespace kamino::engine
