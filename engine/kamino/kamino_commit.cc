// Commit and abort of a transaction.
#include <cstring>
#include <utility>

#include "engine/explore.h"
#include "engine/kamino/checksum.h"
#include "engine/kamino/intent_check.h"
#include "engine/kamino/kamino_transaction.h"
#include "glog/logging.h"

namespace kamino::engine {

using commit_log_format::Entry;
using commit_log_format::kDataFirst;

const WriteSet& KaminoTransaction::write_set() const {
  static const WriteSet* const kNone = new WriteSet();
  return state_ == nullptr ? *kNone : state_->write_set;
}

void KaminoTransaction::HashRange(const Intent& intent, Range* range) {
  if (range->hashed) {
    // Stored already, for example by a Read: the bytes beside it in its words
    // may have been stored to since, through a pointer.
    if (range->kept >= 0 && !range->deferred) {
      Reached(Branch::kRangeHashedAndStored);
      FillWords(intent, *range);
    }
    return;
  }
  Object& object = state_->objects[range->object];
  if (!object.zeroed) ZeroNew(&object);
  object.filled = static_cast<uint32_t>(object.payload.size());
  // So that the words kept here include the deferred bytes beside.
  if (object.deferred) Apply(&object);
  const auto bytes =
      absl::MakeConstSpan(object.payload.data() + intent.offset, intent.length);
  range->hash = Checksum(bytes);
  range->hashed = true;
  // Bytes flushed now would have to be read again for the backup.
  if (!store_->copy_at_commit_) return;
  range->kept = Keep(intent.offset, {}, bytes);
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

void KaminoTransaction::Tell(AfterImage* image) const {
  image->hash = state_->record.data;
  image->filled.clear();
  for (size_t i = 0; i < state_->write_set.size(); ++i) {
    if (state_->write_set[i].kind != IntentKind::kAlloc) continue;
    const Object& object = state_->objects[state_->ranges[i].object];
    image->filled.push_back(object.freed ? 0 : object.filled);
  }
}

void KaminoTransaction::StoreAll() {
  Region* region = store_->heap_->region();
  for (size_t i = 0; i < state_->write_set.size(); ++i) {
    const Intent& intent = state_->write_set[i];
    Range& range = state_->ranges[i];
    const Object& object = state_->objects[range.object];
    if (object.freed) Reached(Branch::kRangeOfFreed);
    if (range.flushed) Reached(Branch::kRangeStoredEarlier);
    if (object.freed || range.flushed) continue;
    if (range.deferred) {
      Reached(Branch::kRangeDeferred);
      ApplyRange(intent, &range);
      continue;
    }
    Reached(Branch::kRangeByPointer);
    range.flushed = true;
    region->Flush(object.payload.data() + intent.offset, intent.length);
  }
}

absl::Status KaminoTransaction::Commit(const CommitOptions& options) {
  CHECK(!ended_);
  if (ChecksIntents()) CheckIntents(*state_);
  Region* region = store_->heap_->region();
  const bool changes = !state_->write_set.empty();
  if (changes) {
    if (absl::Status saved = Save(); !saved.ok()) {
      absl::Status aborted = Abort();
      return aborted.ok() ? saved : aborted;
    }
    PrepareRecord(options.sequence);
    if (options.image != nullptr) Tell(options.image);
    state_->claim = store_->ClaimRecord(state_->record.entries.size());
    state_->claimed = true;
    state_->record.position = state_->claim.position;
  }
  if (options.before_mark.has_value()) {
    StoreAll();
    if (changes) region->Drain();
    Reached(Branch::kCommitDataFirst);
    absl::Status before = (*options.before_mark)(state_->write_set);
    if (!before.ok()) {
      Reached(Branch::kCommitRefused);
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
  KaminoStore::Turn turn = store_->TakeTurn();
  if (turn.before != nullptr) store_->PrepareBackup(turn.before.get());
  // From here to the drain nothing but stores.
  StoreAll();
  store_->log_.Write(state_->record);
  if (turn.before != nullptr) store_->CopyToBackup(*turn.before);
  store_->Drain(/*backup=*/turn.before != nullptr, /*heap=*/true);
  store_->Committed(std::move(state_), std::move(turn));
  return absl::OkStatus();
}

void KaminoTransaction::RestoreAll() {
  if (store_->undo_log_ != nullptr) return store_->RestoreSaved(*state_);
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
  Reached(any ? Branch::kAbortRestores : Branch::kAbortOfNothing);
  if (any) region->Drain();
}

absl::Status KaminoTransaction::Abort() {
  CHECK(!ended_);
  if (ChecksIntents()) CheckIntents(*state_);
  ended_ = true;
  UnlockShared();
  RestoreAll();
  store_->Aborted(std::move(state_));
  // Its copies would stay in place, which left no room for the others.
  if (parts_backup_) store_->backup_->EvictAll();
  return absl::OkStatus();
}

}  // namespace kamino::engine
