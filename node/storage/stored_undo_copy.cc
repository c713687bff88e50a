#include "node/storage/stored_undo_copy.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/kamino/undo_copy_format.h"
#include "engine/kamino/undo_copy_header.h"
#include "node/storage/stamp_format.h"
#include "replica/log/applied_mark.h"
#include "replica/state/local_undo.h"

namespace kamino::node {

using engine::Heap;
using engine::UndoCopy;
using Part = Media::Part;

static_assert(stamp_format::kAppliedOffset + replica::AppliedMark::kBytes <=
              replica::LocalUndo::kMarkOffset);
static_assert(replica::LocalUndo::kEnd <=
              engine::undo_copy_format::kHeaderBytes);

size_t StoredUndoCopy::NewBytes() const {
  switch (options_.undo_copy) {
    case UndoCopyKind::kSimple:
      return engine::SimpleUndoCopyBytes(options_.heap_bytes);
    case UndoCopyKind::kDynamic:
      return engine::DynamicUndoCopyBytes(options_.heap_bytes, options_.alpha);
    case UndoCopyKind::kLog:
      return engine::LogUndoCopyBytes(
          replica::UndoLogBytes(options_.ring_bytes));
  }
  return 0;
}

// --- When the node starts.

absl::Status StoredUndoCopy::Open(const Heap& heap) {
  ASSIGN_OR_RETURN(region_, media_->Open(Part::kUndoCopy));
  if (region_->size() < engine::undo_copy_format::kHeaderBytes) {
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
absl::StatusOr<std::unique_ptr<UndoCopy>> StoredUndoCopy::OpenUndoCopy(
    Heap* heap) {
  const auto& header =
      *reinterpret_cast<const engine::undo_copy_format::UndoCopyHeader*>(
          region_->base());
  absl::StatusOr<std::unique_ptr<UndoCopy>> undo_copy;
  switch (static_cast<engine::undo_copy_format::Kind>(header.kind)) {
    case engine::undo_copy_format::Kind::kDynamic:
      undo_copy = engine::OpenDynamicUndoCopy(heap, region_.get());
      break;
    case engine::undo_copy_format::Kind::kLog:
      undo_copy = engine::OpenLogUndoCopy(heap, region_.get());
      break;
    default:  // simple, or no valid header: reported likewise
      undo_copy = engine::OpenSimpleUndoCopy(heap, region_.get());
      break;
  }
  if (undo_copy.ok()) return undo_copy;
  return media_->WithName(undo_copy.status(), Part::kUndoCopy);
}

void StoredUndoCopy::DropOtherSize() {
  if (region_->size() != NewBytes()) region_.reset();
}

// --- While it runs.

absl::Status StoredUndoCopy::Reserve() {
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

absl::StatusOr<std::unique_ptr<UndoCopy>> StoredUndoCopy::NewUndoCopy(
    Heap* heap) {
  absl::StatusOr<std::unique_ptr<UndoCopy>> undo_copy;
  switch (options_.undo_copy) {
    case UndoCopyKind::kSimple:
      undo_copy = engine::CreateSimpleUndoCopy(heap, region_.get());
      break;
    case UndoCopyKind::kDynamic:
      undo_copy = engine::CreateDynamicUndoCopy(heap, region_.get());
      break;
    case UndoCopyKind::kLog:
      undo_copy = engine::CreateLogUndoCopy(heap, region_.get());
      break;
  }
  if (undo_copy.ok()) return undo_copy;
  return media_->WithName(undo_copy.status(), Part::kUndoCopy);
}

}  // namespace kamino::node
