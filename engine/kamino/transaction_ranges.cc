#include "engine/kamino/transaction_ranges.h"

#include <algorithm>
#include <cstring>

#include "engine/explore.h"
#include "engine/kamino/checksum.h"
#include "engine/kamino/commit_log_format.h"
#include "engine/kamino/words.h"

namespace kamino::engine {

using commit_log_format::Entry;
using commit_log_format::kLineBytes;

namespace {

// Bytes of a transaction that are kept in memory for the undo copy; others are
// read back from the heap.
constexpr size_t kMostKept = (kExplores ? 8u : 64u) << 10;

// Most zero bytes after the first store to a new object.
constexpr size_t kMostZeros = 4096;

bool Overlap(const Intent& declared, const Intent& intent) {
  const auto end = [](const Intent& of) {
    return uint64_t{of.offset} + of.length;
  };
  return declared.kind == IntentKind::kWrite && declared.offset < end(intent) &&
         intent.offset < end(declared);
}

}  // namespace

// --- Keeping.

int64_t TransactionRanges::Keep(uint32_t offset,
                                absl::Span<const std::byte> head,
                                absl::Span<const std::byte> bytes) {
  ByteBuffer& kept = state_->bytes;
  const size_t begin = WordsBegin(offset);
  const size_t end = WordsEnd(offset + head.size() + bytes.size());
  // At the same distance from a line's start as in the payload.
  const size_t at = (kept.size() + kLineBytes - 1) / kLineBytes * kLineBytes +
                    begin % kLineBytes;
  if (at + (end - begin) > kMostKept) {
    Reached(Branch::kRangeNotKept);
    return -1;
  }
  Reached(Branch::kRangeKept);
  kept.resize(at + (end - begin));
  std::byte* to = kept.data() + at + (offset - begin);
  for (const absl::Span<const std::byte> piece : {head, bytes}) {
    if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  }
  return static_cast<int64_t>(at);
}

absl::Span<const std::byte> TransactionRanges::Kept(int64_t kept,
                                                    uint32_t offset,
                                                    size_t length) const {
  return {state_->bytes.data() + kept + (offset - WordsBegin(offset)), length};
}

void TransactionRanges::FillWords(const Range& range) {
  const Intent& intent = range.intent;
  const std::byte* payload = state_->objects[range.object].payload.data();
  std::byte* kept = state_->bytes.data() + range.kept;
  const size_t begin = WordsBegin(intent.offset);
  const size_t behind = intent.offset + size_t{intent.length};
  std::copy(payload + begin, payload + intent.offset, kept);
  std::copy(payload + behind, payload + WordsEnd(behind),
            kept + (behind - begin));
}

void TransactionRanges::ApplyRange(Range* range) {
  FillWords(*range);
  const Intent& intent = range->intent;
  const size_t begin = WordsBegin(intent.offset);
  region_.CopyFlush(state_->objects[range->object].payload.data() + begin,
                    state_->bytes.data() + range->kept,
                    WordsEnd(intent.offset + size_t{intent.length}) - begin);
  range->deferred = false;
  range->flushed = true;
}

// In order: a range's first and last word may be those of an earlier one.
void TransactionRanges::Apply(Object* object) {
  const size_t place = object - state_->objects.data();
  for (Range& range : state_->ranges) {
    if (range.object == place && range.deferred) ApplyRange(&range);
  }
  object->deferred = false;
}

// --- Adding.

bool TransactionRanges::Overlaps(const Object& object,
                                 const Intent& intent) const {
  for (int i = object.last_range; i >= 0; i = state_->ranges[i].previous) {
    if (Overlap(state_->ranges[i].intent, intent)) return true;
  }
  return false;
}

TransactionRanges::Range* TransactionRanges::Add(Object* object,
                                                 const Intent& intent,
                                                 bool* overlaps) {
  *overlaps = false;
  for (int i = object->last_range; i >= 0; i = state_->ranges[i].previous) {
    Range& range = state_->ranges[i];
    if (!Overlap(range.intent, intent)) continue;
    Reached(Branch::kRangesOverlap);
    // Hashed at the end, when its bytes are final.
    if (range.deferred) ApplyRange(&range);
    range.hashed = range.flushed = false;
    range.kept = -1;
    *overlaps = true;
  }
  Range& range = state_->ranges.emplace_back();
  range.intent = intent;
  range.object = object - state_->objects.data();
  range.previous = object->last_range;
  object->last_range = static_cast<int>(state_->ranges.size()) - 1;
  return &range;
}

void TransactionRanges::AddOverwrite(Object* object, const Intent& intent,
                                     const Bytes& content) {
  bool overlaps;
  Range* range = Add(object, intent, &overlaps);
  std::byte* target = object->payload.data() + intent.offset;
  const absl::Span<const std::byte> bytes = content.bytes;
  if (overlaps) {
    if (!bytes.empty()) std::memcpy(target, bytes.data(), bytes.size());
    return;
  }
  range->hash = content.hash;
  range->hashed = true;
  range->kept = content.kept;
  if (content.kept >= 0) {
    range->deferred = object->deferred = true;
  } else {
    region_.CopyFlush(target, bytes.data(), bytes.size());
    range->flushed = true;
  }
}

// --- New objects.

void TransactionRanges::ZeroNew(Object* object) {
  Range& range = state_->ranges[object->last_range];
  range.hashed = range.flushed = false;
  range.kept = -1;
  if (object->zeroed) return;
  Reached(Branch::kNewObjectZeroed);
  std::memset(object->payload.data(), 0, object->payload.size());
  object->zeroed = true;
}

void TransactionRanges::OverwriteNew(Object* object, uint32_t offset,
                                     const Bytes& content) {
  const absl::Span<const std::byte> bytes = content.bytes;
  const int64_t kept = content.kept;
  const size_t rest = object->payload.size() - bytes.size();
  Range& range = state_->ranges[object->last_range];
  if (!object->zeroed && offset == 0 && rest <= kMostZeros && kept >= 0 &&
      kept + object->payload.size() <= kMostKept) {
    Reached(Branch::kNewObjectDeferred);
    range.kept = kept;
    state_->bytes.resize(kept + object->payload.size());
    std::memset(state_->bytes.data() + kept + bytes.size(), 0, rest);
    range.hash = content.hash;
    range.hashed = range.deferred = object->deferred = object->zeroed = true;
    object->filled = static_cast<uint32_t>(bytes.size());
    return;
  }
  if (object->deferred) Apply(object);
  ZeroNew(object);
  if (bytes.empty()) return;
  std::memcpy(object->payload.data() + offset, bytes.data(), bytes.size());
}

// --- The end.

void TransactionRanges::HashRange(Range* range) {
  if (range->hashed) {
    // Stored already, for example by a Read: the bytes beside it in its words
    // may have been stored to since, through a pointer.
    if (range->kept >= 0 && !range->deferred) {
      Reached(Branch::kRangeHashedAndStored);
      FillWords(*range);
    }
    return;
  }
  const Intent& intent = range->intent;
  Object& object = state_->objects[range->object];
  if (!object.zeroed) ZeroNew(&object);
  object.filled = static_cast<uint32_t>(object.payload.size());
  // So that the words kept here include the deferred bytes beside.
  if (object.deferred) Apply(&object);
  const auto bytes =
      absl::MakeConstSpan(object.payload.data() + intent.offset, intent.length);
  range->hash = Checksum(bytes);
  range->hashed = true;
  // Bytes flushed now would have to be read again for the undo copy.
  if (!copies_at_commit_) return;
  range->kept = Keep(intent.offset, {}, bytes);
  if (range->kept >= 0) FillWords(*range);
}

void TransactionRanges::PrepareRecord(uint64_t sequence) {
  RecordImage& record = state_->record;
  record.Start(state_->ranges.size());
  record.header().sequence = sequence;
  uint64_t data = 0;
  Entry* entry = record.entries();
  for (Range& range : state_->ranges) {
    const Intent& intent = range.intent;
    const Object& object = state_->objects[range.object];
    *entry = {intent.object | static_cast<uint64_t>(intent.kind), intent.offset,
              intent.length};
    if (!object.freed) {  // else its bytes do not matter any more
      HashRange(&range);
      data = FoldHash(data, range.hash);
      if (intent.kind == IntentKind::kAlloc) entry->offset = object.filled;
    }
    ++entry;
  }
  record.header().data = data;
}

void TransactionRanges::Tell(AfterImage* image) const {
  image->hash = state_->record.header().data;
  image->filled.clear();
  for (const Range& range : state_->ranges) {
    if (range.intent.kind != IntentKind::kAlloc) continue;
    const Object& object = state_->objects[range.object];
    image->filled.push_back(object.freed ? 0 : object.filled);
  }
}

void TransactionRanges::StoreAll() {
  for (Range& range : state_->ranges) {
    const Object& object = state_->objects[range.object];
    if (object.freed) Reached(Branch::kRangeOfFreed);
    if (range.flushed) Reached(Branch::kRangeStoredEarlier);
    if (object.freed || range.flushed) continue;
    if (range.deferred) {
      Reached(Branch::kRangeDeferred);
      ApplyRange(&range);
      continue;
    }
    Reached(Branch::kRangeByPointer);
    range.flushed = true;
    const Intent& intent = range.intent;
    region_.Flush(object.payload.data() + intent.offset, intent.length);
  }
}

void TransactionRanges::RestoreCopies() {
  bool any = false;
  for (const Range& range : state_->ranges) {
    const Intent& intent = range.intent;
    if (intent.kind != IntentKind::kWrite) continue;
    const Object& object = state_->objects[range.object];
    region_.CopyFlush(object.payload.data() + intent.offset,
                      object.copy + intent.offset, intent.length);
    any = true;
  }
  Reached(any ? Branch::kAbortRestores : Branch::kAbortOfNothing);
  if (any) region_.Drain();
}

}  // namespace kamino::engine
