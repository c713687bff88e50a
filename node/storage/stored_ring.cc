#include "node/storage/stored_ring.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "node/storage/media_age.h"

namespace kamino::node {

using engine::Region;
using membership::Condition;
using replica::LogRing;
using replica::NodeState;
using Part = Media::Part;

absl::StatusOr<std::unique_ptr<StoredRing>> StoredRing::Create(
    const StorageOptions* options, Media* media, const engine::Heap& heap) {
  auto stored = absl::WrapUnique(new StoredRing(options, media, heap.uuid()));
  RETURN_IF_ERROR(stored->CreateNew());
  return stored;
}

absl::StatusOr<std::unique_ptr<StoredRing>> StoredRing::Open(
    const StorageOptions* options, Media* media, const engine::Heap& heap) {
  auto stored = absl::WrapUnique(new StoredRing(options, media, heap.uuid()));
  RETURN_IF_ERROR(stored->OpenExisting());
  return stored;
}

size_t StoredRing::MinBytes() const {
  return options_.tiny_log_bytes > 0 ? LogRing::kMinTinyBytes
                                     : LogRing::kMinBytes;
}

absl::StatusOr<std::unique_ptr<LogRing>> StoredRing::MakeRing(
    Region* region) const {
  return LogRing::Create(region, heap_uuid_, MinBytes(), options_.mode);
}

void StoredRing::CountRestarts() {
  restarts_.emplace(&*record_, options_.boot, options_.restart_limit);
}

absl::Status StoredRing::CreateNew() {
  ASSIGN_OR_RETURN(region_, media_->Create(Part::kRing, options_.ring_bytes));
  auto ring = MakeRing(region_.get());
  if (!ring.ok()) return media_->WithName(ring.status(), Part::kRing);
  ring_ = *std::move(ring);
  NodeState state;
  state.incarnation = options_.first_incarnation;
  state.nonce = NextNonce({}, options_.salt);
  state.heap_id = heap_uuid_;
  state.boot = options_.boot;
  record_.emplace(region_.get());
  record_->Create(state);
  CountRestarts();
  return absl::OkStatus();
}

absl::Status StoredRing::OpenExisting() {
  if (!media_->Exists(Part::kRing)) {
    return absl::FailedPreconditionError(
        absl::StrCat(name(), " is missing though ", media_->Name(Part::kHeap),
                     " is there; restore it, or begin with an empty folder"));
  }
  ASSIGN_OR_RETURN(region_, media_->Open(Part::kRing));
  if (region_->size() < MinBytes()) {
    return absl::FailedPreconditionError(
        absl::StrCat(name(), " is truncated to ", region_->size(),
                     " bytes; restore it, or begin with an empty folder"));
  }
  record_.emplace(region_.get());
  absl::Status read = record_->Open();
  // An unfinished transfer may have left an incomplete ring.
  const bool anew =
      read.ok() && record_->state().condition == Condition::kReceiving;
  auto ring =
      anew ? MakeRing(region_.get()) : LogRing::Open(region_.get(), heap_uuid_);
  if (!ring.ok()) return media_->WithName(ring.status(), Part::kRing);
  if (!read.ok()) return media_->WithName(read, Part::kRing);
  ring_ = *std::move(ring);
  RETURN_IF_ERROR(ChooseMode());
  CountRestarts();
  return absl::OkStatus();
}

absl::Status StoredRing::ChooseMode() {
  if (ring_->mode() == options_.mode) return absl::OkStatus();
  if (record_->state().condition != Condition::kFresh) {
    const absl::string_view mode = ChainModeName(ring_->mode());
    return absl::FailedPreconditionError(absl::StrCat(
        name(), " is of a chain in ", mode, " mode, but --chain_mode says ",
        ChainModeName(options_.mode),
        "; a chain keeps its mode: start the node with --chain_mode=", mode,
        ", or, to join a chain of the other one as a new node, move its files "
        "away"));
  }
  ASSIGN_OR_RETURN(ring_, MakeRing(region_.get()));
  return absl::OkStatus();
}

absl::Status StoredRing::Resize() {
  if (region_->size() == options_.ring_bytes) return absl::OkStatus();
  ASSIGN_OR_RETURN(auto region,
                   media_->Create(Part::kRing, options_.ring_bytes));
  auto ring = MakeRing(region.get());
  if (!ring.ok()) return media_->WithName(ring.status(), Part::kRing);
  // It is new, so no old entry can count as its own.
  (*ring)->Restart(ring_->cleaned(), /*generation=*/0);
  while ((*ring)->received() < ring_->received()) {
    absl::Status kept =
        (*ring)->Append(ring_->EntryOf((*ring)->received() + 1));
    if (kept.ok()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        name(), " has ", region_->size() >> 20, " MiB and holds more than ",
        options_.ring_bytes >> 20,
        " MiB, the value of --ring_mb, can hold: ", kept.message()));
  }
  (*ring)->MarkApplied(ring_->applied());
  (*ring)->PersistApplied();
  const NodeState state = record_->state();
  record_.emplace(region.get());
  record_->Create(state);
  CountRestarts();
  LOG(INFO) << name() << " had " << (region_->size() >> 20) << " MiB and has "
            << (options_.ring_bytes >> 20) << " MiB now";
  ring_ = *std::move(ring);
  region_ = std::move(region);
  return media_->Publish(Part::kRing);
}

void StoredRing::EndUndoCopy() {
  NodeState state = record_->state();
  if (!state.was_head && !state.local_undo) return;
  state.was_head = state.local_undo = false;
  record_->Update(state);
}

}  // namespace kamino::node
