#include "engine/kamino/kamino_transaction.h"

#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "engine/resource_error.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

absl::Status NotFound(ObjectId id) {
  return absl::NotFoundError(absl::StrCat("no object has the id ", id));
}

}  // namespace

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
  if (owned_.contains(id) || shared_.contains(id)) return absl::OkStatus();
  if (!store_->locks_.LockShared(id, owner_, lock_wait_)) return Conflict(id);
  shared_.insert(id);
  return absl::OkStatus();
}

absl::StatusOr<KaminoTransaction::Owned*> KaminoTransaction::LockExclusive(
    ObjectId id) {
  const auto found = owned_.find(id);
  if (found != owned_.end()) return &found->second;
  const bool upgrade = shared_.contains(id);
  if (!store_->locks_.LockExclusive(id, owner_, upgrade, lock_wait_)) {
    return Conflict(id);
  }
  if (upgrade) shared_.erase(id);
  return &owned_[id];
}

void KaminoTransaction::UnlockShared() {
  for (ObjectId id : shared_) store_->locks_.UnlockShared(id);
  shared_.clear();
}

// --- Reading and declaring.

absl::StatusOr<absl::Span<const std::byte>> KaminoTransaction::Read(
    ObjectId id) {
  CHECK(!ended_);
  if (absl::Status locked = LockShared(id); !locked.ok()) return locked;
  const auto found = owned_.find(id);
  if (found != owned_.end() && found->second.freed) return NotFound(id);
  return store_->heap_->Payload(id);
}

absl::Status KaminoTransaction::Declare(const Intent& intent) {
  if (!slot_.has_value()) {
    slot_ = store_->log_.Acquire();
    if (!slot_.has_value()) {
      return ResourceError(Resource::kLog,
                           "as many transactions as the intent log has slots "
                           "are unfinished");
    }
  }
  absl::Status appended = store_->log_.Append(*slot_, intent);
  if (appended.ok()) write_set_.push_back(intent);
  return appended;
}

absl::StatusOr<std::byte*> KaminoTransaction::Write(ObjectId id,
                                                    uint32_t offset,
                                                    uint32_t length) {
  CHECK(!ended_);
  auto owned = LockExclusive(id);
  if (!owned.ok()) return owned.status();
  if ((*owned)->freed) return NotFound(id);
  auto payload = store_->heap_->Payload(id);
  if (!payload.ok()) return payload.status();
  if (offset > payload->size() || length > payload->size() - offset) {
    return absl::OutOfRangeError(absl::StrCat(
        "bytes [", offset, ", ", offset, " + ", length, ") are not within the ",
        payload->size(), " bytes of object ", id));
  }
  std::byte* const bytes = payload->data() + offset;
  if ((*owned)->allocated) return bytes;  // its alloc intent covers it
  if (!(*owned)->pinned) {
    // The copy first: an intent that is durable can be rolled back.
    absl::Status copied = store_->backup_->EnsureCopy(id);
    if (!copied.ok()) return copied;
    (*owned)->pinned = true;
  }
  absl::Status declared = Declare({id, offset, length, IntentKind::kWrite});
  if (!declared.ok()) return declared;
  return bytes;
}

absl::StatusOr<ObjectId> KaminoTransaction::Alloc(uint32_t size) {
  CHECK(!ended_);
  if (size == 0 || size > kMaxObjectBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("an object of ", size, " bytes; 1 to ", kMaxObjectBytes));
  }
  auto id = store_->heap_->Reserve(size);
  if (absl::IsResourceExhausted(id.status())) {
    return ResourceError(Resource::kHeap, id.status().message());
  }
  if (!id.ok()) return id.status();
  const absl::Span<std::byte> payload = store_->heap_->BlockPayload(*id);
  // Somebody may ask for an object that was there once, and hold its lock.
  auto owned = LockExclusive(*id);
  if (!owned.ok()) {
    store_->heap_->Release(*id);
    return owned.status();
  }
  absl::Status declared = Declare(
      {*id, 0, static_cast<uint32_t>(payload.size()), IntentKind::kAlloc});
  if (!declared.ok()) {
    owned_.erase(*id);
    store_->Unlock(owner_, {*id}, {*id});
    return declared;
  }
  (*owned)->allocated = true;
  std::memset(payload.data(), 0, payload.size());
  store_->heap_->MarkAllocated(*id);
  return *id;
}

absl::Status KaminoTransaction::Free(ObjectId id) {
  CHECK(!ended_);
  auto owned = LockExclusive(id);
  if (!owned.ok()) return owned.status();
  if ((*owned)->freed) return NotFound(id);
  auto payload = store_->heap_->Payload(id);
  if (!payload.ok()) return payload.status();
  absl::Status declared = Declare(
      {id, 0, static_cast<uint32_t>(payload->size()), IntentKind::kFree});
  if (declared.ok()) (*owned)->freed = true;
  return declared;
}

// --- The end.

void KaminoTransaction::FlushChanges() {
  Region* region = store_->heap_->region();
  for (const Intent& intent : write_set_) {
    if (intent.kind == IntentKind::kFree) {
      store_->heap_->MarkFree(intent.object);
    } else if (!owned_[intent.object].freed) {
      region->Flush(
          store_->heap_->BlockPayload(intent.object).data() + intent.offset,
          intent.length);
    }
  }
}

absl::Status KaminoTransaction::Commit(const CommitOptions& options) {
  CHECK(!ended_);
  if (slot_.has_value()) {
    FlushChanges();
    store_->log_.Prepare(*slot_, options.sequence);
  }
  if (options.before_mark.has_value()) {
    absl::Status before = (*options.before_mark)(write_set_);
    if (!before.ok()) {
      absl::Status aborted = Abort();
      return aborted.ok() ? before : aborted;
    }
  }
  if (slot_.has_value()) store_->log_.Mark(*slot_);
  EndCommitted(options);
  return absl::OkStatus();
}

void KaminoTransaction::EndCommitted(const CommitOptions& options) {
  ended_ = true;
  UnlockShared();
  auto finished = absl::make_unique<KaminoStore::Finished>();
  finished->owner = owner_;
  finished->sequence = options.sequence;
  finished->slot = slot_;
  finished->intents = write_set_;
  finished->held = options.hold_locks;
  for (const auto& [id, owned] : owned_) {
    finished->locked.push_back(id);
    if (owned.pinned) finished->pinned.push_back(id);
    if (owned.freed) finished->freed.push_back(id);
  }
  store_->Enqueue(std::move(finished));
}

absl::Status KaminoTransaction::TakeBack() {
  // A free is undone where Commit has begun to carry it out.
  for (auto intent = write_set_.rbegin(); intent != write_set_.rend();
       ++intent) {
    switch (intent->kind) {
      case IntentKind::kWrite: {
        absl::Status restored = store_->backup_->Restore(
            intent->object, intent->offset, intent->length);
        if (!restored.ok()) return restored;
        break;
      }
      case IntentKind::kAlloc:
        store_->heap_->MarkFree(intent->object);
        break;
      case IntentKind::kFree:
        store_->heap_->MarkAllocated(intent->object);
        break;
    }
  }
  store_->heap_->region()->Drain();
  return absl::OkStatus();
}

absl::Status KaminoTransaction::Abort() {
  CHECK(!ended_);
  ended_ = true;
  UnlockShared();
  if (slot_.has_value()) {
    // On an error the slot stays running and the objects locked: only a
    // recovery with the backup can help.
    if (absl::Status done = TakeBack(); !done.ok()) return done;
    store_->log_.Free(*slot_);
    store_->heap_->region()->Drain();
    store_->log_.Recycle(*slot_);
  }
  std::vector<ObjectId> locked;
  std::vector<ObjectId> space;
  for (const auto& [id, owned] : owned_) {
    locked.push_back(id);
    if (owned.pinned) store_->backup_->Unpin(id);
    if (owned.allocated) space.push_back(id);
  }
  store_->Unlock(owner_, locked, space);
  if (write_set_.empty()) return absl::OkStatus();
  absl::MutexLock lock(&store_->mutex_);
  ++store_->aborted_;
  return absl::OkStatus();
}

}  // namespace kamino::engine
