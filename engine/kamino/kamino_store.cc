#include "engine/kamino/kamino_store.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "engine/kamino/kamino_transaction.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

absl::flat_hash_set<ObjectId> FreedBy(const WriteSet& intents) {
  absl::flat_hash_set<ObjectId> freed;
  for (const Intent& intent : intents) {
    if (intent.kind == IntentKind::kFree) freed.insert(intent.object);
  }
  return freed;
}

}  // namespace

KaminoStore::KaminoStore(Heap* heap, std::unique_ptr<Backup> backup)
    : heap_(heap),
      backup_(std::move(backup)),
      log_(heap->region(), heap->log_area()) {}

KaminoStore::~KaminoStore() = default;

absl::StatusOr<std::unique_ptr<KaminoStore>> KaminoStore::Open(
    Heap* heap, std::unique_ptr<Backup> backup) {
  auto store = absl::WrapUnique(new KaminoStore(heap, std::move(backup)));
  if (absl::Status done = store->Recover(); !done.ok()) return done;
  if (absl::Status loaded = heap->Load(); !loaded.ok()) return loaded;
  return store;
}

std::unique_ptr<Transaction> KaminoStore::Begin(absl::Duration lock_wait) {
  absl::MutexLock lock(&mutex_);
  return absl::make_unique<KaminoTransaction>(this, next_owner_++, lock_wait);
}

// --- Recovery.

absl::Status KaminoStore::Recover() {
  // Unfinished transactions have no object in common: their locks were held.
  // But rolling one forward may evict a copy that another is rolled back with;
  // so those that are rolled back are done with, durably, before.
  const std::vector<IntentLog::Unfinished> unfinished = log_.Scan();
  absl::Status done = RecoverSlots(unfinished, /*committed=*/false);
  return done.ok() ? RecoverSlots(unfinished, /*committed=*/true) : done;
}

absl::Status KaminoStore::RecoverSlots(
    const std::vector<IntentLog::Unfinished>& unfinished, bool committed) {
  std::vector<IntentLog::Slot> slots;
  for (const IntentLog::Unfinished& found : unfinished) {
    if (found.committed != committed) continue;
    absl::Status done =
        committed ? RollForward(found.intents) : RollBack(found.intents);
    if (!done.ok()) return done;
    if (committed) last_sequence_ = std::max(last_sequence_, found.sequence);
    slots.push_back(found.slot);
  }
  if (slots.empty()) return absl::OkStatus();
  heap_->region()->Drain();
  backup_->Drain();
  for (IntentLog::Slot slot : slots) log_.Free(slot);
  heap_->region()->Drain();
  return absl::OkStatus();
}

absl::Status KaminoStore::CheckRange(const Intent& intent) const {
  const auto payload = heap_->Payload(intent.object);
  if (payload.ok() && intent.offset <= payload->size() &&
      intent.length <= payload->size() - intent.offset) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat("the heap is damaged: an intent names bytes [",
                   intent.offset, ", ", intent.offset, " + ", intent.length,
                   ") of an object ", intent.object, " that is not there"));
}

absl::Status KaminoStore::RollBack(const WriteSet& intents) {
  for (auto intent = intents.rbegin(); intent != intents.rend(); ++intent) {
    absl::Status done;
    if (intent->kind == IntentKind::kWrite) {
      done = CheckRange(*intent);
      if (done.ok()) {
        done = backup_->Restore(intent->object, intent->offset, intent->length);
      }
    } else {
      done = heap_->RecoverState(intent->object, intent->length,
                                 intent->kind == IntentKind::kFree);
    }
    if (!done.ok()) return done;
  }
  return absl::OkStatus();
}

absl::Status KaminoStore::RollForward(const WriteSet& intents) {
  for (const Intent& intent : intents) {
    if (intent.kind == IntentKind::kWrite) continue;
    absl::Status done = heap_->RecoverState(intent.object, intent.length,
                                            intent.kind == IntentKind::kAlloc);
    if (!done.ok()) return done;
  }
  const absl::flat_hash_set<ObjectId> freed = FreedBy(intents);
  for (const Intent& intent : intents) {
    if (intent.kind != IntentKind::kWrite || freed.contains(intent.object)) {
      continue;
    }
    if (absl::Status found = CheckRange(intent); !found.ok()) return found;
  }
  CopyToBackup(intents);
  return absl::OkStatus();
}

// --- The backup.

void KaminoStore::CopyToBackup(const WriteSet& intents) {
  const absl::flat_hash_set<ObjectId> freed = FreedBy(intents);
  for (ObjectId id : freed) backup_->Drop(id);
  for (const Intent& intent : intents) {
    if (intent.kind == IntentKind::kFree || freed.contains(intent.object)) {
      continue;
    }
    backup_->Update(intent.object, intent.offset, intent.length);
  }
}

void KaminoStore::Enqueue(std::unique_ptr<Finished> finished) {
  absl::MutexLock lock(&mutex_);
  ++committed_;
  // One that has only read has nothing to bring into the backup or to unlock.
  if (!finished->locked.empty()) pending_.push_back(std::move(finished));
}

bool KaminoStore::AwaitCommitted(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithDeadline(
      absl::Condition(this, &KaminoStore::HasPending), deadline);
}

size_t KaminoStore::ApplyBackup(size_t max) {
  FinishedList batch;
  size_t left;
  {
    absl::MutexLock lock(&mutex_);
    while (batch.size() < max && !pending_.empty()) {
      batch.push_back(std::move(pending_.front()));
      pending_.pop_front();
      syncing_.push_back(batch.back().get());
    }
    left = pending_.size();
  }
  if (batch.empty()) return left;
  for (const auto& finished : batch) CopyToBackup(finished->intents);
  backup_->Drain();
  FinishedList done;
  {
    absl::MutexLock lock(&mutex_);
    syncing_.clear();
    for (auto& finished : batch) {
      finished->synced = true;
      if (finished->held) {
        const uint64_t sequence = finished->sequence;
        held_[sequence] = std::move(finished);
      } else {
        done.push_back(std::move(finished));
      }
    }
  }
  Finish(std::move(done));
  return left;
}

void KaminoStore::Quiesce() {
  while (ApplyBackup(SIZE_MAX) > 0) {
  }
}

uint64_t KaminoStore::bytes_used() const {
  return heap_->stats().bytes_used + heap_->log_area().size() +
         backup_->stats().bytes_used;
}

// --- Locks.

void KaminoStore::ReleaseHold(uint64_t sequence) {
  FinishedList done;
  {
    absl::MutexLock lock(&mutex_);
    for (auto& finished : pending_) {
      if (finished->sequence == sequence) finished->held = false;
    }
    for (Finished* finished : syncing_) {
      if (finished->sequence == sequence) finished->held = false;
    }
    const auto found = held_.find(sequence);
    if (found == held_.end()) return;
    done.push_back(std::move(found->second));
    held_.erase(found);
  }
  Finish(std::move(done));
}

void KaminoStore::Finish(FinishedList list) {
  if (list.empty()) return;
  bool any_slot = false;
  for (const auto& finished : list) {
    if (!finished->slot.has_value()) continue;
    log_.Free(*finished->slot);
    any_slot = true;
  }
  // Before anybody can change these objects again.
  if (any_slot) heap_->region()->Drain();
  for (const auto& finished : list) {
    if (finished->slot.has_value()) log_.Recycle(*finished->slot);
    for (ObjectId id : finished->pinned) backup_->Unpin(id);
    Unlock(finished->owner, finished->locked, finished->freed);
  }
}

void KaminoStore::Unlock(LockTable::Owner owner,
                         absl::Span<const ObjectId> objects,
                         absl::Span<const ObjectId> space) {
  std::vector<ObjectId> unlocked;
  for (ObjectId id : objects) {
    if (locks_.UnlockExclusive(id, owner)) unlocked.push_back(id);
  }
  // Whoever allocates it next finds it unlocked.
  for (ObjectId id : space) heap_->Release(id);
  if (listener_ && !unlocked.empty()) listener_(unlocked);
}

void KaminoStore::HoldLocks(uint64_t sequence, const WriteSet& write_set) {
  auto finished = absl::make_unique<Finished>();
  finished->sequence = sequence;
  finished->synced = finished->held = true;
  absl::MutexLock lock(&mutex_);
  finished->owner = next_owner_++;
  for (const Intent& intent : write_set) {
    // A later transaction of the chain that has the same object takes the lock
    // over, which shows that this one was completed before.
    locks_.Seize(intent.object, finished->owner);
    finished->locked.push_back(intent.object);
    if (intent.kind != IntentKind::kFree) continue;
    // Not free any more: a later one has reused the space, likewise.
    if (heap_->ReserveAt(intent.object, intent.length).ok()) {
      finished->freed.push_back(intent.object);
    }
  }
  held_[sequence] = std::move(finished);
}

KaminoStats KaminoStore::stats() const {
  KaminoStats stats;
  stats.backup = backup_->stats();
  stats.locked_objects = locks_.exclusive();
  absl::MutexLock lock(&mutex_);
  stats.committed = committed_;
  stats.aborted = aborted_;
  stats.backup_pending = pending_.size();
  stats.held = held_.size();
  return stats;
}

}  // namespace kamino::engine
