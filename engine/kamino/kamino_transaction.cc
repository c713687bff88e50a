#include "engine/kamino/kamino_transaction.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/explore.h"
#include "engine/kamino/checksum.h"
#include "engine/kamino/intent_check.h"
#include "engine/resource_error.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

// A free block of the size of a transaction, or null. The thread frees it when
// it ends. A transaction that ends after that keeps no block.
thread_local void* spare_block = nullptr;
thread_local bool spares_blocks = true;

struct SpareBlock {
  ~SpareBlock() {
    spares_blocks = false;
    ::operator delete(spare_block);
    spare_block = nullptr;
  }
};

void* TakeSpareBlock() { return std::exchange(spare_block, nullptr); }

bool KeepSpareBlock(void* block) {
  thread_local SpareBlock frees_at_end;
  if (!spares_blocks || spare_block != nullptr) return false;
  spare_block = block;
  return true;
}

absl::Status OutOfObject(const TransactionState::Object& object,
                         uint32_t offset, uint64_t length) {
  return absl::OutOfRangeError(absl::StrCat(
      "bytes [", offset, ", ", offset, " + ", length, ") are not within the ",
      object.payload.size(), " bytes of object ", object.id));
}

}  // namespace

KaminoTransaction::KaminoTransaction(const StoreParts& parts,
                                     LockTable::Owner owner,
                                     absl::Duration lock_wait)
    : parts_(parts),
      state_(TransactionState::Take()),
      locks_(parts, state_.get(), lock_wait),
      intents_(parts, state_.get()),
      ranges_(parts.writer->objects(), state_.get(),
              parts.pipeline->copies_at_commit()) {
  state_->owner = owner;
}

void* KaminoTransaction::operator new(size_t size) {
  void* const spare = TakeSpareBlock();
  return spare != nullptr ? spare : ::operator new(size);
}

void KaminoTransaction::operator delete(void* memory) {
  if (!KeepSpareBlock(memory)) ::operator delete(memory);
}

KaminoTransaction::~KaminoTransaction() {
  if (ended_) return;
  absl::Status aborted = Abort();
  LOG_IF(ERROR, !aborted.ok()) << "abort failed: " << aborted;
}

const WriteSet& KaminoTransaction::write_set() const {
  static const WriteSet* const kNone = new WriteSet();
  return state_ == nullptr ? *kNone : state_->write_set();
}

// --- Reading and declaring.

void KaminoTransaction::Prefetch(ObjectId id) const {
  parts_.locks->Prefetch(id);
  parts_.heap->Prefetch(id, 0);
}

void KaminoTransaction::PrefetchToWrite(ObjectId id, size_t length) const {
  parts_.locks->Prefetch(id);
  parts_.heap->Prefetch(id, length);
  parts_.sticky->Prefetch(id);
  parts_.undo_copy->Prefetch(id, length);
}

absl::StatusOr<absl::Span<const std::byte>> KaminoTransaction::Read(
    ObjectId id) {
  CHECK(!ended_);
  Prefetch(id);
  absl::Status error;
  Object* const object = locks_.LockShared(id, &error);
  if (object == nullptr) return error;
  if (object->deferred) {
    RETURN_IF_ERROR(parts_.saver->Save(state_.get()));
    ranges_.Apply(object);
  }
  if (!object->allocated) {
    const absl::Span<std::byte> payload = parts_.heap->FindPayload(id);
    if (payload.empty()) return ObjectNotFound(id);
    if (ChecksIntents() && !object->exclusive) {
      RememberAsRead(payload, object, state_.get());
    }
    return payload;
  }
  ranges_.ZeroNew(object);
  return object->payload;
}

absl::Status KaminoTransaction::NoRoom() const {
  Reached(Branch::kRecordTooLarge);
  return ResourceError(
      Resource::kTransaction,
      absl::StrCat("the transaction has over ", parts_.log->max_entries(),
                   " intents, more than a commit record holds"));
}

KaminoTransaction::Object* KaminoTransaction::LockLive(ObjectId id,
                                                       absl::Status* error) {
  Object* const object = locks_.LockExclusive(id, error);
  if (object == nullptr || !object->payload.empty()) return object;
  object->payload = parts_.heap->FindPayload(id);
  if (!object->payload.empty()) return object;
  *error = ObjectNotFound(id);
  return nullptr;
}

KaminoTransaction::Object* KaminoTransaction::OpenForWrite(
    ObjectId id, uint32_t offset, uint64_t length, absl::Status* error) {
  CHECK(!ended_);
  Object* const object = LockLive(id, error);
  if (object == nullptr) return nullptr;
  if (offset > object->payload.size() ||
      length > object->payload.size() - offset) {
    *error = OutOfObject(*object, offset, length);
    return nullptr;
  }
  if (object->allocated) return object;
  *error = intents_.Ensure(object);
  if (!error->ok()) return nullptr;
  BeforeChange(id, IntentKind::kWrite);
  return object;
}

absl::Status KaminoTransaction::Declare(absl::Span<const Intent> intents) {
  RETURN_IF_ERROR(CheckWritesOnly(intents));
  RETURN_IF_ERROR(ForeseeWrites(intents));
  intents_.Gather();
  const absl::Status done = Transaction::Declare(intents);
  intents_.DrainGathered();
  return done;
}

absl::Status KaminoTransaction::ForeseeWrites(absl::Span<const Intent> writes) {
  if (!parts_.saver->saves() || writes.empty()) return absl::OkStatus();
  absl::Status error;
  for (const Intent& intent : writes) {
    const Object* const object =
        OpenForWrite(intent.object, intent.offset, intent.length, &error);
    if (object == nullptr) return error;
    if (object->allocated) return absl::OkStatus();
  }
  RETURN_IF_ERROR(parts_.saver->Save(state_.get(), writes));
  state_->foreseen.assign(writes.rbegin(), writes.rend());
  return absl::OkStatus();
}

absl::Status KaminoTransaction::ExpectWrites(absl::Span<const ObjectId> ids) {
  CHECK(!ended_);
  if (!gathers_copies()) return absl::OkStatus();
  std::vector<ObjectId> lacking;
  absl::Status error;
  for (ObjectId id : ids) {
    const Object* const object = LockLive(id, &error);
    if (object == nullptr) return error;
    if (!object->allocated && !object->intended) lacking.push_back(id);
  }
  return intents_.EnsureAll(std::move(lacking));
}

absl::StatusOr<std::byte*> KaminoTransaction::Write(ObjectId id,
                                                    uint32_t offset,
                                                    uint32_t length) {
  Prefetch(id);
  absl::Status error;
  Object* const object = OpenForWrite(id, offset, length, &error);
  if (object == nullptr) return error;
  if (object->allocated) {
    if (object->deferred) ranges_.Apply(object);
    ranges_.ZeroNew(object);
    return object->payload.data() + offset;
  }
  RETURN_IF_ERROR(CheckRoom());
  const Intent intent{id, offset, length, IntentKind::kWrite};
  RETURN_IF_ERROR(parts_.saver->SaveNext(state_.get(), intent));
  if (object->deferred) ranges_.Apply(object);
  bool overlaps;
  ranges_.Add(object, intent, &overlaps);
  return object->payload.data() + offset;
}

absl::Status KaminoTransaction::Overwrite(ObjectId id, uint32_t offset,
                                          absl::Span<const std::byte> bytes) {
  // Work that needs no lock comes first: a locked instruction waits for the
  // drain of the transaction before, this does not.
  PrefetchToWrite(id, offset + bytes.size());
  const uint64_t hash = Checksum(bytes);
  return OverwriteWith(id, offset,
                       {bytes, hash, ranges_.Keep(offset, {}, bytes)});
}

absl::Status KaminoTransaction::OverwriteBoth(
    ObjectId id, uint32_t offset, absl::Span<const std::byte> head,
    absl::Span<const std::byte> bytes) {
  const size_t length = head.size() + bytes.size();
  PrefetchToWrite(id, offset + length);
  const int64_t kept = ranges_.Keep(offset, head, bytes);
  // Too large to be kept; joined elsewhere.
  if (kept < 0) return Transaction::OverwriteBoth(id, offset, head, bytes);
  // Nothing more is kept before these are used.
  const auto both = ranges_.Kept(kept, offset, length);
  return OverwriteWith(id, offset, {both, Checksum(both), kept});
}

absl::Status KaminoTransaction::OverwriteWith(
    ObjectId id, uint32_t offset, const TransactionRanges::Bytes& content) {
  const size_t length = content.bytes.size();
  absl::Status error;
  Object* const object = OpenForWrite(id, offset, length, &error);
  if (object == nullptr) return error;
  if (object->allocated) {
    ranges_.OverwriteNew(object, offset, content);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckRoom());
  const Intent intent{id, offset, static_cast<uint32_t>(length),
                      IntentKind::kWrite};
  // Unless it is stored with the commit.
  if (content.kept < 0 || ranges_.Overlaps(*object, intent)) {
    RETURN_IF_ERROR(parts_.saver->SaveNext(state_.get(), intent));
  }
  ranges_.AddOverwrite(object, intent, content);
  return absl::OkStatus();
}

// --- Allocation.

absl::StatusOr<ObjectId> KaminoTransaction::Alloc(uint32_t size) {
  CHECK(!ended_);
  if (size == 0 || size > kMaxObjectBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an object of ", size, " bytes; it has 1 to ", kMaxObjectBytes));
  }
  RETURN_IF_ERROR(CheckRoom());
  auto id = parts_.heap->Reserve(size, /*may_cut=*/false);
  if (absl::IsResourceExhausted(id.status())) {
    // Space that this frees is used before the reserve.
    parts_.pipeline->PropagateAll();
    id = parts_.heap->Reserve(size);
    if (!id.ok()) return ResourceError(Resource::kHeap, id.status().message());
  }
  if (!id.ok()) return id.status();
  // Another transaction may ask for an old object of that id, and hold its
  // lock.
  absl::Status error;
  Object* const object = locks_.LockExclusive(*id, &error);
  if (object == nullptr) {
    parts_.heap->Release(*id);
    return error;
  }
  BeforeChange(*id, IntentKind::kAlloc);
  object->payload = parts_.heap->BlockPayload(*id);
  object->allocated = true;
  object->zeroed = false;
  bool overlaps;
  ranges_.Add(object,
              {*id, 0, static_cast<uint32_t>(object->payload.size()),
               IntentKind::kAlloc},
              &overlaps);
  return *id;
}

absl::Status KaminoTransaction::Free(ObjectId id) {
  CHECK(!ended_);
  RETURN_IF_ERROR(CheckNotRoot(id, parts_.heap->root()));
  absl::Status error;
  Object* const object = LockLive(id, &error);
  if (object == nullptr) return error;
  RETURN_IF_ERROR(CheckRoom());
  if (!object->allocated) BeforeChange(id, IntentKind::kFree);
  // Deferred ranges that overlap are stored now.
  if (object->deferred) RETURN_IF_ERROR(parts_.saver->Save(state_.get()));
  bool overlaps;
  ranges_.Add(
      object,
      {id, 0, static_cast<uint32_t>(object->payload.size()), IntentKind::kFree},
      &overlaps);
  object->freed = true;
  return absl::OkStatus();
}

// --- The end.

absl::Status KaminoTransaction::Commit(const CommitOptions& options) {
  CHECK(!ended_);
  if (ChecksIntents()) CheckIntents(*state_);
  const bool changes = !state_->ranges.empty();
  if (changes) {
    if (absl::Status saved = parts_.saver->Save(state_.get()); !saved.ok()) {
      absl::Status aborted = Abort();
      return aborted.ok() ? saved : aborted;
    }
    ranges_.PrepareRecord(options.sequence);
    if (options.image != nullptr) ranges_.Tell(options.image);
    state_->claim = parts_.pipeline->ClaimRecord(state_->ranges.size());
    state_->claimed = true;
  }
  if (options.before_mark.has_value()) {
    ranges_.StoreAll();
    if (changes) parts_.writer->objects().Drain();
    Reached(Branch::kCommitDataFirst);
    absl::Status before = (*options.before_mark)(state_->write_set());
    if (!before.ok()) {
      Reached(Branch::kCommitRefused);
      absl::Status aborted = Abort();
      return aborted.ok() ? before : aborted;
    }
    if (changes) {
      state_->record.header().flags |= commit_log_format::kDataFirst;
    }
  }
  ended_ = true;
  locks_.UnlockShared();
  state_->sequence = options.sequence;
  state_->held = options.hold_locks;
  if (!changes) {
    parts_.pipeline->CommittedNothing(std::move(state_));
    return absl::OkStatus();
  }
  UndoCopyWriter* const writer = parts_.writer;
  CommitPipeline::Turn turn = parts_.pipeline->TakeTurn();
  if (turn.before != nullptr) writer->Prepare(turn.before.get());
  // From here to the drain nothing but stores.
  ranges_.StoreAll();
  parts_.log->Write(state_->claim, &state_->record);
  if (turn.before != nullptr) writer->Copy(*turn.before);
  writer->Drain(/*undo_copy=*/turn.before != nullptr, /*heap=*/true);
  parts_.pipeline->Committed(std::move(state_), std::move(turn));
  return absl::OkStatus();
}

absl::Status KaminoTransaction::Abort() {
  CHECK(!ended_);
  if (ChecksIntents()) CheckIntents(*state_);
  ended_ = true;
  locks_.UnlockShared();
  if (parts_.saver->saves()) {
    parts_.saver->Restore(*state_);
  } else {
    ranges_.RestoreCopies();
  }
  parts_.pipeline->Aborted(std::move(state_));
  intents_.EvictAfterAbort();
  return absl::OkStatus();
}

}  // namespace kamino::engine
