#include "engine/kamino/kamino_transaction.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/fault.h"
#include "engine/kamino/words.h"
#include "engine/resource_error.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

using commit_log_format::Entry;
using commit_log_format::kDataFirst;

// Bytes of a transaction kept in memory for the backup; what is more is read
// back from the heap.
constexpr size_t kMostKept = 64u << 10;

// Most bytes of zeros behind what a new object is given.
constexpr size_t kMostZeros = 4096;

absl::Status NotFound(ObjectId id) {
  return absl::NotFoundError(absl::StrCat("no object has the id ", id));
}

uint64_t Checksum(absl::Span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

KaminoTransaction::KaminoTransaction(KaminoStore* store, LockTable::Owner owner,
                                     absl::Duration lock_wait)
    : store_(store), lock_wait_(lock_wait), state_(TransactionState::Take()) {
  state_->owner = owner;
}

KaminoTransaction::~KaminoTransaction() {
  if (ended_) return;
  absl::Status aborted = Abort();
  LOG_IF(ERROR, !aborted.ok()) << "abort failed: " << aborted;
}

// --- Locks.

absl::Status KaminoTransaction::Conflict(ObjectId id) {
  conflict_ = id;
  return absl::AbortedError(
      absl::StrCat("object ", id, " is locked by another transaction"));
}

absl::Status KaminoTransaction::LockShared(ObjectId id) {
  if (state_->Find(id) != nullptr) return absl::OkStatus();
  const auto take = [&](absl::Duration wait) {
    return store_->locks_.LockShared(id, state_->owner, wait);
  };
  if (!store_->LockOrSettle(lock_wait_, take)) return Conflict(id);
  state_->Add(id);
  return absl::OkStatus();
}

absl::StatusOr<KaminoTransaction::Object*> KaminoTransaction::LockExclusive(
    ObjectId id) {
  Object* object = state_->Find(id);
  if (object == nullptr || !object->exclusive) {
    const auto take = [&](absl::Duration wait) {
      return store_->locks_.LockExclusive(id, state_->owner,
                                          /*upgrade=*/object != nullptr, wait);
    };
    if (!store_->LockOrSettle(lock_wait_, take)) return Conflict(id);
    if (object == nullptr) object = &state_->Add(id);
    object->exclusive = true;
  }
  if (object->freed) return NotFound(id);
  return object;
}

void KaminoTransaction::UnlockShared() {
  for (const Object& object : state_->objects) {
    if (!object.exclusive) store_->locks_.UnlockShared(object.id);
  }
}

// --- Reading and declaring.

absl::StatusOr<absl::Span<const std::byte>> KaminoTransaction::Read(
    ObjectId id) {
  CHECK(!ended_);
  if (absl::Status locked = LockShared(id); !locked.ok()) return locked;
  Object* object = state_->Find(id);
  if (object->freed) return NotFound(id);
  if (object->deferred) Apply(object);
  if (!object->allocated) return store_->heap_->Payload(id);
  ZeroNew(object);
  return object->payload;
}

absl::Status KaminoTransaction::CheckRoom() const {
  if (state_->write_set.size() < store_->log_.max_entries()) {
    return absl::OkStatus();
  }
  return ResourceError(
      Resource::kTransaction,
      absl::StrCat("the transaction has over ", store_->log_.max_entries(),
                   " intents, more than a commit record holds"));
}

absl::Status KaminoTransaction::MakeSticky(Object* object) {
  for (bool again = true;; again = false) {
    if (object->copy == nullptr) {
      auto copy = store_->backup_->EnsureCopy(object->id);
      if (!copy.ok() && again && store_->SettleAll()) continue;
      if (!copy.ok()) return copy.status();
      object->copy = *copy;
    }
    if (FaultPlanted("kamino-no-intent")) return absl::OkStatus();
    switch (store_->sticky_.Add(object->id)) {
      case StickyIntents::Added::kNew:
        if (FaultPlanted("kamino-intent-not-drained")) return absl::OkStatus();
        store_->heap_->region()->Drain();
        return absl::OkStatus();
      case StickyIntents::Added::kWasThere:
        return absl::OkStatus();
      case StickyIntents::Added::kNoRoom:
        if (again && store_->SettleAll()) continue;
        return ResourceError(
            store_->locks_.exclusive() > state_->objects.size()
                ? Resource::kLog
                : Resource::kTransaction,
            "as many objects are locked as the log has room for intents");
    }
  }
}

absl::StatusOr<KaminoTransaction::Object*> KaminoTransaction::OpenForWrite(
    ObjectId id, uint32_t offset, uint64_t length) {
  CHECK(!ended_);
  auto locked = LockExclusive(id);
  if (!locked.ok()) return locked;
  Object* object = *locked;
  if (object->payload.empty()) {
    auto payload = store_->heap_->Payload(id);
    if (!payload.ok()) return payload.status();
    object->payload = *payload;
  }
  if (offset > object->payload.size() ||
      length > object->payload.size() - offset) {
    return absl::OutOfRangeError(absl::StrCat(
        "bytes [", offset, ", ", offset, " + ", length, ") are not within the ",
        object->payload.size(), " bytes of object ", id));
  }
  if (object->allocated || object->copy != nullptr) return object;
  absl::Status sticky = MakeSticky(object);
  if (!sticky.ok()) return sticky;
  return object;
}

KaminoTransaction::Range* KaminoTransaction::Declare(Object* object,
                                                     const Intent& intent,
                                                     bool* overlaps) {
  const auto end = [](const Intent& of) {
    return uint64_t{of.offset} + of.length;
  };
  *overlaps = false;
  for (int i = object->last_range; i >= 0; i = state_->ranges[i].previous) {
    const Intent& other = state_->write_set[i];
    if (other.kind != IntentKind::kWrite || other.offset >= end(intent) ||
        intent.offset >= end(other)) {
      continue;
    }
    // Hashed at the end, when its bytes are what they will be.
    Range& range = state_->ranges[i];
    if (range.deferred) ApplyRange(other, &range);
    range.hashed = range.flushed = false;
    range.kept = -1;
    *overlaps = true;
  }
  Range range;
  range.object = object - state_->objects.data();
  range.previous = object->last_range;
  object->last_range = static_cast<int>(state_->ranges.size());
  state_->write_set.push_back(intent);
  state_->ranges.push_back(range);
  return &state_->ranges.back();
}

// --- Bytes that are known are kept, and stored to the heap in one go at the
// commit: the stores go past the cache, and every locked instruction between
// them and the drain would wait for them.

int64_t KaminoTransaction::Keep(uint32_t offset,
                                absl::Span<const std::byte> bytes) {
  std::vector<std::byte>& kept = state_->bytes;
  const size_t begin = WordsBegin(offset);
  const size_t end = WordsEnd(offset + bytes.size());
  if (kept.size() + (end - begin) > kMostKept) return -1;
  const size_t at = kept.size();
  kept.resize(at + (end - begin));
  std::copy(bytes.begin(), bytes.end(), kept.begin() + at + (offset - begin));
  return static_cast<int64_t>(at);
}

void KaminoTransaction::FillWords(const Intent& intent, const Range& range) {
  const std::byte* payload = state_->objects[range.object].payload.data();
  std::byte* kept = state_->bytes.data() + range.kept;
  const size_t begin = WordsBegin(intent.offset);
  const size_t behind = intent.offset + size_t{intent.length};
  std::copy(payload + begin, payload + intent.offset, kept);
  std::copy(payload + behind, payload + WordsEnd(behind),
            kept + (behind - begin));
}

void KaminoTransaction::ApplyRange(const Intent& intent, Range* range) {
  FillWords(intent, *range);
  const size_t begin = WordsBegin(intent.offset);
  store_->heap_->region()->CopyFlush(
      state_->objects[range->object].payload.data() + begin,
      state_->bytes.data() + range->kept,
      WordsEnd(intent.offset + size_t{intent.length}) - begin);
  range->deferred = false;
  range->flushed = true;
}

// In order: a range's first and last word may be those of an earlier one.
void KaminoTransaction::Apply(Object* object) {
  const size_t place = object - state_->objects.data();
  for (size_t i = 0; i < state_->ranges.size(); ++i) {
    Range& range = state_->ranges[i];
    if (range.object == place && range.deferred) {
      ApplyRange(state_->write_set[i], &range);
    }
  }
  object->deferred = false;
}

absl::StatusOr<std::byte*> KaminoTransaction::Write(ObjectId id,
                                                    uint32_t offset,
                                                    uint32_t length) {
  auto opened = OpenForWrite(id, offset, length);
  if (!opened.ok()) return opened.status();
  Object* object = *opened;
  if (object->deferred) Apply(object);
  if (object->allocated) {
    ZeroNew(object);
    return object->payload.data() + offset;
  }
  if (absl::Status room = CheckRoom(); !room.ok()) return room;
  bool overlaps;
  Declare(object, {id, offset, length, IntentKind::kWrite}, &overlaps);
  return object->payload.data() + offset;
}

absl::Status KaminoTransaction::Overwrite(ObjectId id, uint32_t offset,
                                          absl::Span<const std::byte> bytes) {
  auto opened = OpenForWrite(id, offset, bytes.size());
  if (!opened.ok()) return opened.status();
  Object* object = *opened;
  if (object->allocated) {
    OverwriteNew(object, offset, bytes);
    return absl::OkStatus();
  }
  if (absl::Status room = CheckRoom(); !room.ok()) return room;
  bool overlaps;
  Range* range = Declare(
      object,
      {id, offset, static_cast<uint32_t>(bytes.size()), IntentKind::kWrite},
      &overlaps);
  std::byte* target = object->payload.data() + offset;
  if (overlaps) {
    if (!bytes.empty()) std::memcpy(target, bytes.data(), bytes.size());
    return absl::OkStatus();
  }
  range->hash = Checksum(bytes);
  range->hashed = true;
  range->kept = Keep(offset, bytes);
  if (range->kept >= 0) {
    range->deferred = object->deferred = true;
  } else {
    store_->heap_->region()->CopyFlush(target, bytes.data(), bytes.size());
    range->flushed = true;
  }
  return absl::OkStatus();
}

// --- New objects: no intent is needed to write to free space.

// The object's payload is written to by other means from now on.
void KaminoTransaction::ZeroNew(Object* object) {
  Range& range = state_->ranges[object->last_range];
  range.hashed = range.flushed = false;
  range.kept = -1;
  if (object->zeroed) return;
  std::memset(object->payload.data(), 0, object->payload.size());
  object->zeroed = true;
}

void KaminoTransaction::OverwriteNew(Object* object, uint32_t offset,
                                     absl::Span<const std::byte> bytes) {
  const size_t rest = object->payload.size() - bytes.size();
  Range& range = state_->ranges[object->last_range];
  if (!object->zeroed && offset == 0 && rest <= kMostZeros &&
      state_->bytes.size() + object->payload.size() <= kMostKept) {
    range.kept = Keep(0, bytes);
    state_->bytes.resize(range.kept + object->payload.size());
    range.hash = Checksum(bytes);
    range.hashed = range.deferred = object->deferred = object->zeroed = true;
    object->filled = static_cast<uint32_t>(bytes.size());
    return;
  }
  if (object->deferred) Apply(object);
  ZeroNew(object);
  if (bytes.empty()) return;
  std::memcpy(object->payload.data() + offset, bytes.data(), bytes.size());
}

absl::StatusOr<ObjectId> KaminoTransaction::Alloc(uint32_t size) {
  CHECK(!ended_);
  if (size == 0 || size > kMaxObjectBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an object of ", size, " bytes; it has 1 to ", kMaxObjectBytes));
  }
  if (absl::Status room = CheckRoom(); !room.ok()) return room;
  auto id = store_->heap_->Reserve(size);
  if (absl::IsResourceExhausted(id.status())) {
    if (store_->SettleAll()) id = store_->heap_->Reserve(size);
    if (!id.ok()) return ResourceError(Resource::kHeap, id.status().message());
  }
  if (!id.ok()) return id.status();
  // Somebody may ask for an object that was there once, and hold its lock.
  auto locked = LockExclusive(*id);
  if (!locked.ok()) {
    store_->heap_->Release(*id);
    return locked.status();
  }
  Object* object = *locked;
  object->payload = store_->heap_->BlockPayload(*id);
  object->allocated = true;
  object->zeroed = false;
  bool overlaps;
  Declare(object,
          {*id, 0, static_cast<uint32_t>(object->payload.size()),
           IntentKind::kAlloc},
          &overlaps);
  return *id;
}

absl::Status KaminoTransaction::Free(ObjectId id) {
  CHECK(!ended_);
  auto locked = LockExclusive(id);
  if (!locked.ok()) return locked.status();
  Object* object = *locked;
  if (object->payload.empty()) {
    auto payload = store_->heap_->Payload(id);
    if (!payload.ok()) return payload.status();
    object->payload = *payload;
  }
  if (absl::Status room = CheckRoom(); !room.ok()) return room;
  bool overlaps;
  Declare(
      object,
      {id, 0, static_cast<uint32_t>(object->payload.size()), IntentKind::kFree},
      &overlaps);
  object->freed = true;
  return absl::OkStatus();
}

// --- The end.

const WriteSet& KaminoTransaction::write_set() const {
  static const WriteSet* const kNone = new WriteSet();
  return state_ == nullptr ? *kNone : state_->write_set;
}

void KaminoTransaction::HashRange(const Intent& intent, Range* range) {
  if (range->hashed) return;
  Object& object = state_->objects[range->object];
  if (!object.zeroed) ZeroNew(&object);
  object.filled = static_cast<uint32_t>(object.payload.size());
  // So that the words kept here have what is deferred beside.
  if (object.deferred) Apply(&object);
  const auto bytes =
      absl::MakeConstSpan(object.payload.data() + intent.offset, intent.length);
  range->hash = Checksum(bytes);
  range->hashed = true;
  // What is to be flushed now would have to be read again for the backup.
  if (!store_->copy_at_commit_) return;
  range->kept = Keep(intent.offset, bytes);
  if (range->kept >= 0) FillWords(intent, *range);
}

void KaminoTransaction::PrepareRecord(uint64_t sequence) {
  CommitRecord& record = state_->record;
  record.sequence = sequence;
  record.flags = 0;
  record.data = 0;
  record.entries.resize(state_->write_set.size());
  for (size_t i = 0; i < state_->write_set.size(); ++i) {
    const Intent& intent = state_->write_set[i];
    Range& range = state_->ranges[i];
    const Object& object = state_->objects[range.object];
    Entry& entry = record.entries[i];
    entry = {intent.object | static_cast<uint64_t>(intent.kind), intent.offset,
             intent.length};
    if (object.freed) continue;  // its bytes do not matter any more
    HashRange(intent, &range);
    record.data = FoldHash(record.data, range.hash);
    if (intent.kind == IntentKind::kAlloc) entry.offset = object.filled;
  }
}

void KaminoTransaction::StoreAll() {
  Region* region = store_->heap_->region();
  for (size_t i = 0; i < state_->write_set.size(); ++i) {
    const Intent& intent = state_->write_set[i];
    Range& range = state_->ranges[i];
    const Object& object = state_->objects[range.object];
    if (object.freed || range.flushed) continue;
    if (range.deferred) {
      ApplyRange(intent, &range);
      continue;
    }
    range.flushed = true;
    if (FaultPlanted(intent.kind == IntentKind::kAlloc
                         ? "kamino-new-object-not-flushed"
                         : "kamino-write-not-flushed")) {
      continue;
    }
    region->Flush(object.payload.data() + intent.offset, intent.length);
  }
}

absl::Status KaminoTransaction::Commit(const CommitOptions& options) {
  CHECK(!ended_);
  Region* region = store_->heap_->region();
  const bool changes = !state_->write_set.empty();
  if (changes) {
    PrepareRecord(options.sequence);
    state_->claim = store_->ClaimRecord(state_->record.entries.size());
    state_->claimed = true;
    state_->record.position = state_->claim.position;
  }
  if (options.before_mark.has_value()) {
    StoreAll();
    if (changes) region->Drain();
    absl::Status before = (*options.before_mark)(state_->write_set);
    if (!before.ok()) {
      absl::Status aborted = Abort();
      return aborted.ok() ? before : aborted;
    }
    state_->record.flags |= kDataFirst;
  }
  ended_ = true;
  UnlockShared();
  state_->sequence = options.sequence;
  state_->held = options.hold_locks;
  if (!changes) {
    store_->CommittedNothing(std::move(state_));
    return absl::OkStatus();
  }
  if (FaultPlanted("kamino-marks-blocks-first")) {
    store_->MarkBlocks(*state_);
    store_->PrepareBackup(state_.get());
  }
  std::vector<std::unique_ptr<TransactionState>> pending =
      store_->TakePending();
  for (const auto& other : pending) store_->PrepareBackup(other.get());
  // From here to the drain nothing but stores.
  StoreAll();
  store_->log_.Write(state_->record);
  for (const auto& other : pending) store_->CopyToBackup(*other);
  if (FaultPlanted("kamino-commit-not-drained")) {
    store_->Committed(std::move(state_), &pending);
    return absl::OkStatus();
  }
  store_->Drain(/*backup=*/!pending.empty(), /*heap=*/true);
  store_->Committed(std::move(state_), &pending);
  return absl::OkStatus();
}

void KaminoTransaction::RestoreAll() {
  Region* region = store_->heap_->region();
  bool any = false;
  for (size_t i = 0; i < state_->write_set.size(); ++i) {
    const Intent& intent = state_->write_set[i];
    if (intent.kind != IntentKind::kWrite) continue;
    const Object& object = state_->objects[state_->ranges[i].object];
    region->CopyFlush(object.payload.data() + intent.offset,
                      object.copy + intent.offset, intent.length);
    any = true;
  }
  if (any) region->Drain();
}

absl::Status KaminoTransaction::Abort() {
  CHECK(!ended_);
  ended_ = true;
  UnlockShared();
  RestoreAll();
  store_->Aborted(std::move(state_));
  return absl::OkStatus();
}

}  // namespace kamino::engine
