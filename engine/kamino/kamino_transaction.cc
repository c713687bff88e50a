#include "engine/kamino/kamino_transaction.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/explore.h"
#include "engine/kamino/checksum.h"
#include "engine/kamino/intent_check.h"
#include "engine/kamino/words.h"
#include "engine/resource_error.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

// Bytes of a transaction that are kept in memory for the backup; others are
// read back from the heap.
constexpr size_t kMostKept = (kExplores ? 8u : 64u) << 10;

constexpr size_t kLineBytes = commit_log_format::kLineBytes;

// Most zero bytes after the first store to a new object.
constexpr size_t kMostZeros = 4096;

bool Overlap(const Intent& declared, const Intent& intent) {
  const auto end = [](const Intent& of) {
    return uint64_t{of.offset} + of.length;
  };
  return declared.kind == IntentKind::kWrite && declared.offset < end(intent) &&
         intent.offset < end(declared);
}

absl::Status NotFound(ObjectId id) {
  return absl::NotFoundError(absl::StrCat("no object has the id ", id));
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
  if (!store_->LockOrPropagate(id, lock_wait_, take)) return Conflict(id);
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
    if (!store_->LockOrPropagate(id, lock_wait_, take)) return Conflict(id);
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
  store_->PrefetchToRead(id);
  RETURN_IF_ERROR(LockShared(id));
  Object* object = state_->Find(id);
  if (object->freed) return NotFound(id);
  if (object->deferred) {
    RETURN_IF_ERROR(Save());
    Apply(object);
  }
  if (!object->allocated) {
    auto payload = store_->heap_->Payload(id);
    if (ChecksIntents() && payload.ok() && !object->exclusive) {
      RememberAsRead(*payload, object);
    }
    return payload;
  }
  ZeroNew(object);
  return object->payload;
}

absl::Status KaminoTransaction::CheckRoom() const {
  if (state_->write_set.size() < store_->log_.max_entries()) {
    return absl::OkStatus();
  }
  Reached(Branch::kRecordTooLarge);
  return ResourceError(
      Resource::kTransaction,
      absl::StrCat("the transaction has over ", store_->log_.max_entries(),
                   " intents, more than a commit record holds"));
}

absl::StatusOr<KaminoTransaction::Object*> KaminoTransaction::LockLive(
    ObjectId id) {
  ASSIGN_OR_RETURN(Object* const object, LockExclusive(id));
  if (object->payload.empty()) {
    auto payload = store_->heap_->Payload(id);
    if (!payload.ok()) return payload.status();
    object->payload = *payload;
  }
  return object;
}

absl::StatusOr<KaminoTransaction::Object*> KaminoTransaction::OpenForWrite(
    ObjectId id, uint32_t offset, uint64_t length) {
  CHECK(!ended_);
  ASSIGN_OR_RETURN(Object* const object, LockLive(id));
  if (offset > object->payload.size() ||
      length > object->payload.size() - offset) {
    return absl::OutOfRangeError(absl::StrCat(
        "bytes [", offset, ", ", offset, " + ", length, ") are not within the ",
        object->payload.size(), " bytes of object ", id));
  }
  if (object->allocated) return object;
  if (!object->intended) RETURN_IF_ERROR(MakeSticky(object));
  store_->BeforeChange(id, IntentKind::kWrite);
  return object;
}

absl::Status KaminoTransaction::Save(absl::Span<const Intent> more) {
  if (store_->undo_log_ == nullptr) return absl::OkStatus();
  return store_->SaveRanges(state_.get(), more);
}

absl::Status KaminoTransaction::ForeseeWrites(absl::Span<const Intent> writes) {
  if (store_->undo_log_ == nullptr || writes.empty()) return absl::OkStatus();
  for (const Intent& intent : writes) {
    ASSIGN_OR_RETURN(const Object* object,
                     OpenForWrite(intent.object, intent.offset, intent.length));
    if (object->allocated) return absl::OkStatus();
  }
  RETURN_IF_ERROR(Save(writes));
  state_->foreseen.assign(writes.rbegin(), writes.rend());
  return absl::OkStatus();
}

absl::Status KaminoTransaction::SaveNext(const Intent& intent) {
  if (store_->undo_log_ == nullptr) return absl::OkStatus();
  WriteSet& foreseen = state_->foreseen;
  if (!foreseen.empty() && foreseen.back() == intent &&
      state_->saved == state_->ranges.size()) {
    foreseen.pop_back();
  } else {
    RETURN_IF_ERROR(store_->SaveRanges(state_.get(), {&intent, 1}));
  }
  ++state_->saved;
  return absl::OkStatus();
}

bool KaminoTransaction::Overlaps(const Object& object,
                                 const Intent& intent) const {
  for (int i = object.last_range; i >= 0; i = state_->ranges[i].previous) {
    if (Overlap(state_->write_set[i], intent)) return true;
  }
  return false;
}

KaminoTransaction::Range* KaminoTransaction::AddRange(Object* object,
                                                      const Intent& intent,
                                                      bool* overlaps) {
  *overlaps = false;
  for (int i = object->last_range; i >= 0; i = state_->ranges[i].previous) {
    const Intent& other = state_->write_set[i];
    if (!Overlap(other, intent)) continue;
    Reached(Branch::kRangesOverlap);
    // Hashed at the end, when its bytes are final.
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

// --- Known bytes are kept, and stored to the heap in one go at the commit: the
// stores bypass the cache, and every locked instruction between them and the
// drain would wait for them.

int64_t KaminoTransaction::Keep(uint32_t offset,
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
  store_->PrefetchToRead(id);
  ASSIGN_OR_RETURN(auto opened, OpenForWrite(id, offset, length));
  Object* object = opened;
  if (object->allocated) {
    if (object->deferred) Apply(object);
    ZeroNew(object);
    return object->payload.data() + offset;
  }
  RETURN_IF_ERROR(CheckRoom());
  const Intent intent{id, offset, length, IntentKind::kWrite};
  RETURN_IF_ERROR(SaveNext(intent));
  if (object->deferred) Apply(object);
  bool overlaps;
  AddRange(object, intent, &overlaps);
  return object->payload.data() + offset;
}

absl::Status KaminoTransaction::Overwrite(ObjectId id, uint32_t offset,
                                          absl::Span<const std::byte> bytes) {
  // Work that needs no lock comes first: a locked instruction waits for the
  // drain of the transaction before, this does not.
  store_->PrefetchToWrite(id, offset + bytes.size());
  const uint64_t hash = Checksum(bytes);
  return OverwriteWith(id, offset, bytes, hash, Keep(offset, {}, bytes));
}

absl::Status KaminoTransaction::OverwriteBoth(
    ObjectId id, uint32_t offset, absl::Span<const std::byte> head,
    absl::Span<const std::byte> bytes) {
  const size_t length = head.size() + bytes.size();
  store_->PrefetchToWrite(id, offset + length);
  const int64_t kept = Keep(offset, head, bytes);
  // Too large to be kept; joined elsewhere.
  if (kept < 0) return Transaction::OverwriteBoth(id, offset, head, bytes);
  // Nothing more is kept before these are used.
  const absl::Span<const std::byte> both(
      state_->bytes.data() + kept + (offset - WordsBegin(offset)), length);
  return OverwriteWith(id, offset, both, Checksum(both), kept);
}

absl::Status KaminoTransaction::OverwriteWith(ObjectId id, uint32_t offset,
                                              absl::Span<const std::byte> bytes,
                                              uint64_t hash, int64_t kept) {
  ASSIGN_OR_RETURN(auto opened, OpenForWrite(id, offset, bytes.size()));
  Object* object = opened;
  if (object->allocated) {
    OverwriteNew(object, offset, bytes, hash, kept);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckRoom());
  const Intent intent{id, offset, static_cast<uint32_t>(bytes.size()),
                      IntentKind::kWrite};
  // Unless it is stored with the commit.
  if (kept < 0 || Overlaps(*object, intent)) {
    RETURN_IF_ERROR(SaveNext(intent));
  }
  bool overlaps;
  Range* range = AddRange(object, intent, &overlaps);
  std::byte* target = object->payload.data() + offset;
  if (overlaps) {
    if (!bytes.empty()) std::memcpy(target, bytes.data(), bytes.size());
    return absl::OkStatus();
  }
  range->hash = hash;
  range->hashed = true;
  range->kept = kept;
  if (kept >= 0) {
    range->deferred = object->deferred = true;
  } else {
    store_->heap_->region()->CopyFlush(target, bytes.data(), bytes.size());
    range->flushed = true;
  }
  return absl::OkStatus();
}

// --- New objects: no intent is needed to write to free space.

// From now on the object's payload is written by other means.
void KaminoTransaction::ZeroNew(Object* object) {
  Range& range = state_->ranges[object->last_range];
  range.hashed = range.flushed = false;
  range.kept = -1;
  if (object->zeroed) return;
  Reached(Branch::kNewObjectZeroed);
  std::memset(object->payload.data(), 0, object->payload.size());
  object->zeroed = true;
}

void KaminoTransaction::OverwriteNew(Object* object, uint32_t offset,
                                     absl::Span<const std::byte> bytes,
                                     uint64_t hash, int64_t kept) {
  const size_t rest = object->payload.size() - bytes.size();
  Range& range = state_->ranges[object->last_range];
  if (!object->zeroed && offset == 0 && rest <= kMostZeros && kept >= 0 &&
      kept + object->payload.size() <= kMostKept) {
    Reached(Branch::kNewObjectDeferred);
    range.kept = kept;
    state_->bytes.resize(kept + object->payload.size());
    std::memset(state_->bytes.data() + kept + bytes.size(), 0, rest);
    range.hash = hash;
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
  RETURN_IF_ERROR(CheckRoom());
  auto id = store_->heap_->Reserve(size, /*may_cut=*/false);
  if (absl::IsResourceExhausted(id.status())) {
    // Space that this frees is used before the reserve.
    store_->PropagateAll();
    id = store_->heap_->Reserve(size);
    if (!id.ok()) return ResourceError(Resource::kHeap, id.status().message());
  }
  if (!id.ok()) return id.status();
  // Another transaction may ask for an old object of that id, and hold its
  // lock.
  auto locked = LockExclusive(*id);
  if (!locked.ok()) {
    store_->heap_->Release(*id);
    return locked.status();
  }
  Object* object = *locked;
  store_->BeforeChange(*id, IntentKind::kAlloc);
  object->payload = store_->heap_->BlockPayload(*id);
  object->allocated = true;
  object->zeroed = false;
  bool overlaps;
  AddRange(object,
           {*id, 0, static_cast<uint32_t>(object->payload.size()),
            IntentKind::kAlloc},
           &overlaps);
  return *id;
}

absl::Status KaminoTransaction::Free(ObjectId id) {
  CHECK(!ended_);
  RETURN_IF_ERROR(CheckNotRoot(id, store_->heap_->root()));
  ASSIGN_OR_RETURN(Object* const object, LockLive(id));
  RETURN_IF_ERROR(CheckRoom());
  if (!object->allocated) store_->BeforeChange(id, IntentKind::kFree);
  // Deferred ranges that overlap are stored now.
  if (object->deferred) RETURN_IF_ERROR(Save());
  bool overlaps;
  AddRange(
      object,
      {id, 0, static_cast<uint32_t>(object->payload.size()), IntentKind::kFree},
      &overlaps);
  object->freed = true;
  return absl::OkStatus();
}

}  // namespace kamino::engine
