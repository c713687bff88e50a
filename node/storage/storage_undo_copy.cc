// The part of Storage that rolls back: the undo copy.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/kamino/backup_format.h"
#include "engine/kamino/backup_header.h"
#include "engine/kamino/kamino_store.h"
#include "glog/logging.h"
#include "node/storage/stamp_format.h"
#include "node/storage/storage.h"

namespace kamino::node {

using engine::Backup;
using engine::KaminoStore;
using engine::Region;
using replica::NodeState;
using Part = Media::Part;

static_assert(stamp_format::kAppliedOffset + replica::AppliedMark::kBytes <=
              replica::LocalUndo::kMarkOffset);
static_assert(replica::LocalUndo::kEnd <= engine::backup_format::kHeaderBytes);

size_t Storage::undo_copy_bytes() const {
  switch (options_.undo_copy) {
    case UndoCopyKind::kSimple:
      return engine::SimpleBackupBytes(options_.heap_bytes);
    case UndoCopyKind::kDynamic:
      return engine::DynamicBackupBytes(options_.heap_bytes, options_.alpha);
    case UndoCopyKind::kLog:
      return engine::LogBackupBytes(replica::UndoLogBytes(options_.ring_bytes));
  }
  return 0;
}

// --- When the node starts.

// Before anything is rolled back, because a rollback could not be told from an
// old region.
absl::Status Storage::OpenUndoCopy() {
  const std::string name = media_->Name(Part::kUndoCopy);
  ASSIGN_OR_RETURN(undo_copy_region_, media_->Open(Part::kUndoCopy));
  if (undo_copy_region_->size() < engine::backup_format::kHeaderBytes) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " is truncated to ", undo_copy_region_->size(), " bytes"));
  }
  // Each heap's incarnations begin anywhere: those of two heaps say nothing
  // about age.
  if (engine::IsOfAnotherHeap(*heap_, *undo_copy_region_)) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " belongs to another heap than ", media_->Name(Part::kHeap),
        ": one of them is another node's, or from before this one began anew; "
        "put back copies that were made at one time, or move all of this "
        "node's files away: it then joins as a new node"));
  }
  undo_copy_age_.emplace(undo_copy_region_.get(), name);
  RETURN_IF_ERROR(undo_copy_age_->Check(AgeOfRing()));
  return heap_age_->CheckBeside(*undo_copy_age_);
}

absl::Status Storage::RecoverHead() { return FinishTakingBack(RollBack()); }

absl::Status Storage::FinishTakingBack(const absl::Status& done) {
  ForgetUndoCopyAge();
  RETURN_IF_ERROR(done);
  EndUndoCopy();
  // Otherwise the region is used again.
  if (undo_copy_region_->size() != undo_copy_bytes()) undo_copy_region_.reset();
  return absl::OkStatus();
}

// Entries that were executed beyond the applied mark, perhaps not to their end,
// are rolled back and executed again from the ring. A diverging entry keeps
// this node's result, if it is whole.
absl::Status Storage::RecoverReplica() {
  const NodeState& state = record_->state();
  const bool disputed =
      state.disputed == ring_->applied() + 1 && state.disputed_whole;
  absl::Status done;
  if (disputed) {
    done = heap_->Load();
  } else {
    auto backup = OpenBackup();
    done = backup.ok() ? replica::TakeBackInterrupted(heap_.get(), *ring_,
                                                      backup->get())
                       : backup.status();
  }
  return FinishTakingBack(done);
}

// By the kind with which it was made, which may differ from the current one: so
// damage is reported as such, and not as a wrong kind.
absl::StatusOr<std::unique_ptr<Backup>> Storage::OpenBackup() {
  Region* const region = undo_copy_region_.get();
  const auto& header =
      *reinterpret_cast<const engine::backup_format::BackupHeader*>(
          region->base());
  absl::StatusOr<std::unique_ptr<Backup>> backup;
  switch (static_cast<engine::backup_format::Kind>(header.kind)) {
    case engine::backup_format::Kind::kDynamic:
      backup = engine::OpenDynamicBackup(heap_.get(), region);
      break;
    case engine::backup_format::Kind::kLog:
      backup = engine::OpenLogBackup(heap_.get(), region);
      break;
    default:  // simple, or no valid header: reported likewise
      backup = engine::OpenSimpleBackup(heap_.get(), region);
      break;
  }
  if (backup.ok()) return backup;
  return Annotate(backup.status(), Part::kUndoCopy);
}

absl::Status Storage::RollBack() {
  ASSIGN_OR_RETURN(auto backup, OpenBackup());
  engine::KaminoOptions options;
  // Before the log forgets it: after a crash in between it must still be
  // committed.
  options.on_recovered = [this](uint64_t last) { return KeepCommitted(last); };
  ASSIGN_OR_RETURN(auto store,
                   KaminoStore::Open(heap_.get(), std::move(backup), options));
  // An entry without a commit record was never sent.
  ring_->TruncateAfter(ring_->applied());
  return absl::OkStatus();
}

absl::Status Storage::KeepCommitted(uint64_t last_sequence) {
  const uint64_t committed = std::max(ring_->applied(), last_sequence);
  if (committed > ring_->received()) {
    return absl::DataLossError(
        absl::StrCat("the heap holds mutation ", committed,
                     ", but the ring ends with ", ring_->received()));
  }
  if (!ring_->EndsEntry(committed)) {
    return absl::DataLossError(
        absl::StrCat("the heap ends with mutation ", committed,
                     ", which is within a log entry of the ring"));
  }
  ring_->MarkApplied(committed);
  ring_->PersistApplied();
  return absl::OkStatus();
}

// --- While it runs.

absl::StatusOr<std::unique_ptr<Region>> Storage::MakeUndoCopyRegion() {
  if (media_->Exists(Part::kUndoCopy)) {
    ASSIGN_OR_RETURN(auto region, media_->Open(Part::kUndoCopy));
    if (region->size() == undo_copy_bytes()) return region;
    region.reset();
    RETURN_IF_ERROR(media_->Remove(Part::kUndoCopy));
  }
  ASSIGN_OR_RETURN(auto region,
                   media_->Create(Part::kUndoCopy, undo_copy_bytes()));
  RETURN_IF_ERROR(media_->Publish(Part::kUndoCopy));
  return region;
}

void Storage::EndUndoCopy() {
  NodeState state = record_->state();
  if (!state.was_head && !state.local_undo) return;
  state.was_head = state.local_undo = false;
  record_->Update(state);
}

absl::StatusOr<std::unique_ptr<Backup>> Storage::NewUndoCopy() {
  EndUndoCopy();
  ForgetUndoCopyAge();
  local_undo_.reset();
  local_backup_.reset();
  if (undo_copy_region_ == nullptr) {
    ASSIGN_OR_RETURN(undo_copy_region_, MakeUndoCopyRegion());
  }
  Region* const region = undo_copy_region_.get();
  absl::StatusOr<std::unique_ptr<Backup>> backup;
  switch (options_.undo_copy) {
    case UndoCopyKind::kSimple:
      backup = engine::CreateSimpleBackup(heap_.get(), region);
      break;
    case UndoCopyKind::kDynamic:
      backup = engine::CreateDynamicBackup(heap_.get(), region);
      break;
    case UndoCopyKind::kLog:
      backup = engine::CreateLogBackup(heap_.get(), region);
      break;
  }
  if (!backup.ok()) return Annotate(backup.status(), Part::kUndoCopy);
  undo_copy_age_.emplace(undo_copy_region_.get(),
                         media_->Name(Part::kUndoCopy));
  undo_copy_age_->SetStamp(Stamp());
  undo_copy_age_->mark()->Reset(ring_->applied());
  MarkWithRing();
  return backup;
}

absl::StatusOr<replica::LocalUndo*> Storage::BeginLocalUndo() {
  if (local_undo_ != nullptr) return local_undo_.get();
  CHECK(!record_->state().was_head) << "the head rolls back with its undo copy";
  ASSIGN_OR_RETURN(local_backup_, NewUndoCopy());
  // An undo log tells its records from old ones by the number of its round, so
  // that number is durable before any record of the round is.
  if (drains_.deferred()) drains_.DrainNow();
  local_undo_ =
      replica::MakeLocalUndo(heap_.get(), ring_.get(), local_backup_.get());
  NodeState state = record_->state();
  state.local_undo = true;
  Record(state);
  return local_undo_.get();
}

void Storage::ForgetUndoCopyAge() {
  undo_copy_age_.reset();
  MarkWithRing();
}

}  // namespace kamino::node
