#include "node/storage/undo_copy.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/kamino/backup_format.h"
#include "engine/kamino/backup_header.h"
#include "node/storage/stamp_format.h"
#include "replica/log/applied_mark.h"
#include "replica/state/local_undo.h"

namespace kamino::node {

using engine::Backup;
using engine::Heap;
using Part = Media::Part;

static_assert(stamp_format::kAppliedOffset + replica::AppliedMark::kBytes <=
              replica::LocalUndo::kMarkOffset);
static_assert(replica::LocalUndo::kEnd <= engine::backup_format::kHeaderBytes);

size_t UndoCopy::NewBytes() const {
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

absl::Status UndoCopy::Open(const Heap& heap) {
  ASSIGN_OR_RETURN(region_, media_->Open(Part::kUndoCopy));
  if (region_->size() < engine::backup_format::kHeaderBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat(name(), " is truncated to ", region_->size(), " bytes"));
  }
  // Each heap's incarnations begin anywhere: those of two heaps say nothing
  // about age.
  if (engine::IsOfAnotherHeap(heap, *region_)) {
    return absl::FailedPreconditionError(absl::StrCat(
        name(), " belongs to another heap than ", media_->Name(Part::kHeap),
        ": one of them is another node's, or from before this one began anew; "
        "put back copies that were made at one time, or move all of this "
        "node's files away: it then joins as a new node"));
  }
  return absl::OkStatus();
}

// By the kind with which it was made, which may differ from the current one: so
// damage is reported as such, and not as a wrong kind.
absl::StatusOr<std::unique_ptr<Backup>> UndoCopy::OpenBackup(Heap* heap) {
  const auto& header =
      *reinterpret_cast<const engine::backup_format::BackupHeader*>(
          region_->base());
  absl::StatusOr<std::unique_ptr<Backup>> backup;
  switch (static_cast<engine::backup_format::Kind>(header.kind)) {
    case engine::backup_format::Kind::kDynamic:
      backup = engine::OpenDynamicBackup(heap, region_.get());
      break;
    case engine::backup_format::Kind::kLog:
      backup = engine::OpenLogBackup(heap, region_.get());
      break;
    default:  // simple, or no valid header: reported likewise
      backup = engine::OpenSimpleBackup(heap, region_.get());
      break;
  }
  if (backup.ok()) return backup;
  return media_->WithName(backup.status(), Part::kUndoCopy);
}

void UndoCopy::DropOtherSize() {
  if (region_->size() != NewBytes()) region_.reset();
}

// --- While it runs.

absl::Status UndoCopy::Reserve() {
  if (region_ != nullptr) return absl::OkStatus();
  if (media_->Exists(Part::kUndoCopy)) {
    ASSIGN_OR_RETURN(auto region, media_->Open(Part::kUndoCopy));
    if (region->size() == NewBytes()) {
      region_ = std::move(region);
      return absl::OkStatus();
    }
    region.reset();
    RETURN_IF_ERROR(media_->Remove(Part::kUndoCopy));
  }
  ASSIGN_OR_RETURN(auto region, media_->Create(Part::kUndoCopy, NewBytes()));
  RETURN_IF_ERROR(media_->Publish(Part::kUndoCopy));
  region_ = std::move(region);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Backup>> UndoCopy::NewBackup(Heap* heap) {
  absl::StatusOr<std::unique_ptr<Backup>> backup;
  switch (options_.undo_copy) {
    case UndoCopyKind::kSimple:
      backup = engine::CreateSimpleBackup(heap, region_.get());
      break;
    case UndoCopyKind::kDynamic:
      backup = engine::CreateDynamicBackup(heap, region_.get());
      break;
    case UndoCopyKind::kLog:
      backup = engine::CreateLogBackup(heap, region_.get());
      break;
  }
  if (backup.ok()) return backup;
  return media_->WithName(backup.status(), Part::kUndoCopy);
}

}  // namespace kamino::node
