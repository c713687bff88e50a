#include "engine/kamino/kamino_transaction.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/fault.h"
#include "engine/resource_error.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

using commit_log_format::Entry;
using commit_log_format::kDataFirst;

// Bytes of a transaction kept in memory for the backup; what is more is read
// back from the heap.
constexpr size_t kMostKept = 64u << 10;

constexpr std::byte kZeros[4096] = {};

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
  if (!object->allocated) return store_->heap_->Payload(id);
  ZeroRest(object);
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
    if (FaultPlanted("kamino-no-copy")) return absl::OkStatus();
    if (!object->pinned) {
      absl::Status copied = store_->backup_->EnsureCopy(object->id);
      if (!copied.ok() && again && store_->SettleAll()) continue;
      if (!copied.ok()) return copied;
      object->pinned = true;
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
  if (object->allocated || object->pinned) return object;
  absl::Status sticky = MakeSticky(object);
  if (!sticky.ok()) return sticky;
  return object;
}

KaminoTransaction::Range& KaminoTransaction::Declare(Object* object,
                                                     const Intent& intent) {
  Range range;
  range.object = object - state_->objects.data();
  range.previous = object->last_range;
  const auto end = [](const Intent& of) {
    return uint64_t{of.offset} + of.length;
  };
  // What overlaps is hashed at the end, when its bytes are what they will be.
  for (int i = object->last_range; i >= 0; i = state_->ranges[i].previous) {
    const Intent& other = state_->write_set[i];
    if (other.kind == IntentKind::kWrite && other.offset < end(intent) &&
        intent.offset < end(other)) {
      state_->ranges[i].flushed = false;
      range.kept = -2;
    }
  }
  object->last_range = static_cast<int>(state_->ranges.size());
  state_->write_set.push_back(intent);
  state_->ranges.push_back(range);
  return state_->ranges.back();
}

int64_t KaminoTransaction::Keep(absl::Span<const std::byte> bytes) {
  std::vector<std::byte>& kept = state_->bytes;
  if (!store_->copy_at_commit_ || kept.size() + bytes.size() > kMostKept) {
    return -1;
  }
  const size_t at = kept.size();
  kept.insert(kept.end(), bytes.begin(), bytes.end());
  return static_cast<int64_t>(at);
}

absl::StatusOr<std::byte*> KaminoTransaction::Write(ObjectId id,
                                                    uint32_t offset,
                                                    uint32_t length) {
  auto opened = OpenForWrite(id, offset, length);
  if (!opened.ok()) return opened.status();
  Object* object = *opened;
  if (object->allocated) {
    ZeroRest(object);
    object->flushed = false;
    return object->payload.data() + offset;
  }
  if (absl::Status room = CheckRoom(); !room.ok()) return room;
  Declare(object, {id, offset, length, IntentKind::kWrite});
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
  Range& range = Declare(
      object,
      {id, offset, static_cast<uint32_t>(bytes.size()), IntentKind::kWrite});
  const bool overlaps = range.kept == -2;
  store_->heap_->region()->CopyFlush(object->payload.data() + offset,
                                     bytes.data(), bytes.size());
  if (overlaps) return absl::OkStatus();
  range.hash = Checksum(bytes);
  range.kept = Keep(bytes);
  range.flushed = true;
  return absl::OkStatus();
}

// --- New objects: no intent is needed to write to free space.

void KaminoTransaction::ZeroRest(Object* object) {
  if (object->zeroed) return;
  std::memset(object->payload.data(), 0, object->payload.size());
  object->zeroed = true;
}

void KaminoTransaction::OverwriteNew(Object* object, uint32_t offset,
                                     absl::Span<const std::byte> bytes) {
  const size_t rest = object->payload.size() - bytes.size();
  if (object->zeroed || offset != 0 || rest > sizeof(kZeros)) {
    ZeroRest(object);
    object->flushed = false;
    if (!bytes.empty()) {
      std::memcpy(object->payload.data() + offset, bytes.data(), bytes.size());
    }
    return;
  }
  Region* region = store_->heap_->region();
  region->CopyFlush(object->payload.data(), bytes.data(), bytes.size());
  region->CopyFlush(object->payload.data() + bytes.size(), kZeros, rest);
  object->zeroed = object->flushed = true;
  object->filled = static_cast<uint32_t>(bytes.size());
  object->hash = Checksum(bytes);
  Range& range = state_->ranges[object->last_range];
  range.kept = Keep(bytes);
  if (range.kept >= 0 && Keep({kZeros, rest}) < 0) range.kept = -1;
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
  Declare(object, {*id, 0, static_cast<uint32_t>(object->payload.size()),
                   IntentKind::kAlloc});
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
  Declare(object, {id, 0, static_cast<uint32_t>(object->payload.size()),
                   IntentKind::kFree});
  object->freed = true;
  return absl::OkStatus();
}

// --- The end.

const WriteSet& KaminoTransaction::write_set() const {
  static const WriteSet* const kNone = new WriteSet();
  return state_ == nullptr ? *kNone : state_->write_set;
}

uint64_t KaminoTransaction::PrepareNew(Object* object) {
  if (!object->flushed) {
    ZeroRest(object);
    object->filled = static_cast<uint32_t>(object->payload.size());
    object->hash = Checksum(object->payload);
    state_->ranges[object->last_range].kept = Keep(object->payload);
    if (!FaultPlanted("kamino-new-object-not-flushed")) {
      store_->heap_->region()->Flush(object->payload.data(),
                                     object->payload.size());
    }
    object->flushed = true;
  }
  return object->hash;
}

uint64_t KaminoTransaction::PrepareRange(const Intent& intent, Range* range) {
  if (!range->flushed) {
    const auto bytes = absl::MakeConstSpan(
        state_->objects[range->object].payload.data() + intent.offset,
        intent.length);
    range->hash = Checksum(bytes);
    range->kept = Keep(bytes);
    if (!FaultPlanted("kamino-write-not-flushed")) {
      store_->heap_->region()->Flush(bytes.data(), bytes.size());
    }
    range->flushed = true;
  }
  return range->hash;
}

void KaminoTransaction::PrepareRecord(uint64_t sequence) {
  CommitRecord& record = state_->record;
  record.sequence = sequence;
  record.flags = 0;
  record.data = 0;
  record.entries.resize(state_->write_set.size());
  for (size_t i = 0; i < state_->write_set.size(); ++i) {
    const Intent& intent = state_->write_set[i];
    Object& object = state_->objects[state_->ranges[i].object];
    Entry& entry = record.entries[i];
    entry = {intent.object | static_cast<uint64_t>(intent.kind), intent.offset,
             intent.length};
    if (object.freed) continue;  // its bytes do not matter any more
    if (intent.kind == IntentKind::kAlloc) {
      record.data = FoldHash(record.data, PrepareNew(&object));
      entry.offset = object.filled;
    } else {
      record.data =
          FoldHash(record.data, PrepareRange(intent, &state_->ranges[i]));
    }
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
  if (FaultPlanted("kamino-marks-blocks-first")) store_->MarkBlocks(*state_);
  store_->log_.Write(state_->record);
  if (FaultPlanted("kamino-commit-not-drained")) {
    return store_->Committed(std::move(state_)), absl::OkStatus();
  }
  // With it, what this thread has copied before becomes durable.
  store_->backup_->Drain();
  region->Drain();
  store_->Committed(std::move(state_));
  return absl::OkStatus();
}

absl::Status KaminoTransaction::RestoreAll() {
  Region* region = store_->heap_->region();
  bool any = false;
  for (const Intent& intent : state_->write_set) {
    if (intent.kind != IntentKind::kWrite) continue;
    auto copy = store_->backup_->Copy(intent.object);
    if (!copy.ok()) return copy.status();
    region->CopyFlush(region->base() + intent.object + intent.offset,
                      copy->data() + intent.offset, intent.length);
    any = true;
  }
  if (any) region->Drain();
  return absl::OkStatus();
}

absl::Status KaminoTransaction::Abort() {
  CHECK(!ended_);
  ended_ = true;
  UnlockShared();
  // On an error the objects stay locked and their intents durable: only a
  // recovery with the backup can help.
  if (absl::Status done = RestoreAll(); !done.ok()) return done;
  store_->Aborted(std::move(state_));
  return absl::OkStatus();
}

}  // namespace kamino::engine
