#include "node/storage/storage.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/kamino/backup_format.h"
#include "engine/kamino/kamino_store.h"
#include "glog/logging.h"
#include "node/storage/stamp_format.h"
#include "node/storage/wrapped_media.h"
#include "replica/state/scrub_format.h"

namespace kamino::node {
namespace {

using engine::Backup;
using engine::Heap;
using engine::KaminoStore;
using engine::Region;
using engine::TrackedRegion;
using membership::Condition;
using replica::LogRing;
using replica::NodeState;
using Part = Media::Part;

// Unique; `salt` is drawn anew for each start.
replica::Uuid NextHeapId(const replica::Uuid& last, uint64_t serial,
                         uint64_t salt) {
  std::string text = replica::BytesOf(last);
  text.append(reinterpret_cast<const char*>(&serial), sizeof(serial));
  const XXH128_hash_t hash =
      XXH3_128bits_withSeed(text.data(), text.size(), salt);
  replica::Uuid id;
  static_assert(sizeof(id) == sizeof(hash));
  std::memcpy(id.data(), &hash, sizeof(id));
  return id;
}

static_assert(stamp_format::kAppliedOffset + replica::AppliedMark::kBytes <=
              replica::scrub_format::kOffset);

}  // namespace

std::string Storage::Label() const {
  return absl::StrCat(options_.cluster_id, "/", options_.chain_id, "/",
                      options_.node_id);
}

absl::Status Storage::Annotate(const absl::Status& status, Part part) const {
  return absl::Status(status.code(),
                      absl::StrCat(media_->Name(part), ": ", status.message()));
}

size_t Storage::MinRingBytes() const {
  return options_.tiny_log_bytes > 0 ? LogRing::kMinTinyBytes
                                     : LogRing::kMinBytes;
}

Storage::Storage(StorageOptions options, std::unique_ptr<Media> media)
    : options_(std::move(options)),
      media_(WithWrappedRegions(std::move(media),
                                [this](std::unique_ptr<Region> region) {
                                  return drains_.Wrap(std::move(region));
                                })) {}

absl::StatusOr<std::unique_ptr<Storage>> Storage::Open(
    StorageOptions options, std::unique_ptr<Media> media) {
  auto storage =
      absl::WrapUnique(new Storage(std::move(options), std::move(media)));
  // The heap is published last, so if it exists, all do.
  absl::Status status = storage->media_->Exists(Part::kHeap)
                            ? storage->OpenExisting()
                            : storage->Create();
  if (status.ok() && storage->options_.reserve_undo_copy &&
      storage->undo_copy_region_ == nullptr) {
    ASSIGN_OR_RETURN(storage->undo_copy_region_, storage->MakeUndoCopyRegion());
  }
  if (!status.ok()) return status;
  return storage;
}

absl::Status Storage::Create() {
  for (Part part : {Part::kRing, Part::kUndoCopy}) {
    RETURN_IF_ERROR(media_->Remove(part));
  }
  ASSIGN_OR_RETURN(auto heap_region,
                   media_->Create(Part::kHeap, options_.heap_bytes));
  heap_region_ = std::make_unique<TrackedRegion>(std::move(heap_region));
  auto heap = options_.tiny_log_bytes > 0
                  ? Heap::CreateTiny(heap_region_.get(), Label(),
                                     options_.tiny_log_bytes)
                  : Heap::Create(heap_region_.get(), Label());
  if (!heap.ok()) return Annotate(heap.status(), Part::kHeap);
  heap_ = std::move(*heap);
  scrub_record_.emplace(heap_region_.get(), replica::scrub_format::kOffset);
  ASSIGN_OR_RETURN(ring_region_,
                   media_->Create(Part::kRing, options_.ring_bytes));
  auto ring = MakeRing(ring_region_.get());
  if (!ring.ok()) return Annotate(ring.status(), Part::kRing);
  ring_ = std::move(*ring);
  NodeState state;
  state.incarnation = options_.first_incarnation;
  state.nonce = NextNonce({}, options_.salt);
  state.heap_id = heap_->uuid();
  state.boot = options_.boot;
  record_.emplace(ring_region_.get());
  record_->Create(state);
  restarts_.emplace(&*record_, options_.boot, options_.restart_limit);
  heap_age_.emplace(heap_region_.get(), media_->Name(Part::kHeap));
  heap_age_->SetStamp(Stamp());
  heap_age_->mark()->Reset(ring_->applied());
  MarkWithRing();
  RETURN_IF_ERROR(media_->Publish(Part::kRing));
  return media_->Publish(Part::kHeap);
}

absl::Status Storage::OpenExisting() {
  RETURN_IF_ERROR(OpenHeap());
  RETURN_IF_ERROR(OpenRing());
  restarts_.emplace(&*record_, options_.boot, options_.restart_limit);
  RETURN_IF_ERROR(
      restarts_->Check(options_.node_id, media_->Name(Part::kHeap)));
  if (heap_region_->size() != options_.heap_bytes) return BeginAnewIfUnused();
  RETURN_IF_ERROR(CheckAge());
  if (ring_region_->size() != options_.ring_bytes) {
    RETURN_IF_ERROR(ResizeRing());
  }
  MarkWithRing();
  restarts_->OnStart();  // recovery itself may crash it
  if (absl::Status done = Recover(); !done.ok()) {
    restarts_->OnRefused();
    return Annotate(done, Part::kHeap);
  }
  RenewStamp();
  return absl::OkStatus();
}

absl::Status Storage::OpenHeap() {
  ASSIGN_OR_RETURN(auto region, media_->Open(Part::kHeap));
  heap_region_ = std::make_unique<TrackedRegion>(std::move(region));
  auto heap = Heap::Open(heap_region_.get());
  if (!heap.ok()) return Annotate(heap.status(), Part::kHeap);
  heap_ = std::move(*heap);
  scrub_record_.emplace(heap_region_.get(), replica::scrub_format::kOffset);
  return CheckOwner();
}

absl::Status Storage::OpenRing() {
  const std::string name = media_->Name(Part::kRing);
  if (!media_->Exists(Part::kRing)) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " is missing though ", media_->Name(Part::kHeap),
                     " is there; restore it, or begin with an empty folder"));
  }
  ASSIGN_OR_RETURN(ring_region_, media_->Open(Part::kRing));
  if (ring_region_->size() < MinRingBytes()) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " is truncated to ", ring_region_->size(),
                     " bytes; restore it, or begin with an empty folder"));
  }
  record_.emplace(ring_region_.get());
  absl::Status read = record_->Open();
  // An unfinished transfer may have left an incomplete ring.
  const bool anew =
      read.ok() && record_->state().condition == Condition::kReceiving;
  auto ring = anew ? MakeRing(ring_region_.get())
                   : LogRing::Open(ring_region_.get(), heap_->uuid());
  if (!ring.ok()) return Annotate(ring.status(), Part::kRing);
  if (!read.ok()) return Annotate(read, Part::kRing);
  ring_ = std::move(*ring);
  if (ring_->mode() == options_.mode) return absl::OkStatus();
  if (record_->state().condition != Condition::kFresh) {
    const absl::string_view mode = ChainModeName(ring_->mode());
    return absl::FailedPreconditionError(absl::StrCat(
        name, " is of a chain in ", mode, " mode, but --chain_mode says ",
        ChainModeName(options_.mode),
        "; a chain keeps its mode: start the node with --chain_mode=", mode,
        ", or, to join a chain of the other one as a new node, move its files "
        "away"));
  }
  ASSIGN_OR_RETURN(ring_, MakeRing(ring_region_.get()));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<LogRing>> Storage::MakeRing(
    Region* region) const {
  return LogRing::Create(region, heap_->uuid(), MinRingBytes(), options_.mode);
}

absl::Status Storage::BeginAnewIfUnused() {
  const std::string name = media_->Name(Part::kHeap);
  const uint64_t size_mb = heap_region_->size() >> 20;
  if (record_->state().condition != Condition::kFresh) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " has ", size_mb, " MiB but --heap_mb says ",
        options_.heap_bytes >> 20,
        "; a heap with data cannot change its size: start the node with "
        "--heap_mb=",
        size_mb,
        ", or move its files away, and it joins as a "
        "new one"));
  }
  LOG(INFO) << name << " has " << size_mb
            << " MiB and was never in a chain: it is made anew with "
            << (options_.heap_bytes >> 20) << " MiB";
  ring_.reset();
  heap_age_.reset();
  scrub_record_.reset();
  restarts_.reset();
  record_.reset();
  ring_region_.reset();
  heap_.reset();
  heap_region_.reset();
  RETURN_IF_ERROR(media_->Remove(Part::kHeap));
  return Create();
}

absl::Status Storage::ResizeRing() {
  const std::string name = media_->Name(Part::kRing);
  ASSIGN_OR_RETURN(auto region,
                   media_->Create(Part::kRing, options_.ring_bytes));
  auto ring = MakeRing(region.get());
  if (!ring.ok()) return Annotate(ring.status(), Part::kRing);
  // It is new, so no old entry can count as its own.
  (*ring)->Restart(ring_->cleaned(), /*generation=*/0);
  while ((*ring)->received() < ring_->received()) {
    absl::Status kept =
        (*ring)->Append(ring_->EntryOf((*ring)->received() + 1));
    if (kept.ok()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        name, " has ", ring_region_->size() >> 20, " MiB and holds more than ",
        options_.ring_bytes >> 20,
        " MiB, the value of --ring_mb, can hold: ", kept.message()));
  }
  (*ring)->MarkApplied(ring_->applied());
  (*ring)->PersistApplied();
  const NodeState state = record_->state();
  record_.emplace(region.get());
  record_->Create(state);
  restarts_.emplace(&*record_, options_.boot, options_.restart_limit);
  LOG(INFO) << name << " had " << (ring_region_->size() >> 20)
            << " MiB and has " << (options_.ring_bytes >> 20) << " MiB now";
  ring_ = std::move(*ring);
  ring_region_ = std::move(region);
  return media_->Publish(Part::kRing);
}

absl::Status Storage::CheckOwner() const {
  if (heap_->label() != Label()) {
    return absl::FailedPreconditionError(absl::StrCat(
        media_->Name(Part::kHeap), " belongs to ", heap_->label(), ", not to ",
        Label(), "; check --cluster_id, --node_id and --data_dir"));
  }
  return absl::OkStatus();
}

// --- Age of the regions.

MediaStamp Storage::Stamp() const {
  return {record_->state().incarnation, record_->state().nonce};
}

MediaAge::Ring Storage::AgeOfRing() const {
  return {.name = media_->Name(Part::kRing),
          .stamp = Stamp(),
          .next_nonce = record_->state().next_nonce,
          .begin = ring_->marks().own().begin(),
          .end = ring_->marks().own().end(),
          .cleaned = ring_->cleaned(),
          .received = ring_->received()};
}

absl::Status Storage::CheckAge() {
  heap_age_.emplace(heap_region_.get(), media_->Name(Part::kHeap));
  // Only its space is used.
  if (record_->state().condition == Condition::kReceiving) {
    heap_age_->mark()->Reset(ring_->applied());
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(heap_age_->Check(AgeOfRing()));
  if (record_->state().was_head || record_->state().local_undo) {
    RETURN_IF_ERROR(OpenUndoCopy());
  }
  const uint64_t applied = std::min(ring_->applied(), heap_age_->mark()->end());
  if (!ring_->EndsEntry(applied)) {
    return absl::DataLossError(
        absl::StrCat(media_->Name(Part::kHeap), " says that mutation ", applied,
                     " was the last applied one, which is within an entry of ",
                     media_->Name(Part::kRing)));
  }
  // No other node knows of entries that only one region marks: they were not
  // drained. From here on all regions have the same mark: otherwise, after a
  // crash, the marks of a later drain could be too far from this one.
  if (undo_copy_age_.has_value() && undo_copy_age_->mark()->end() != applied) {
    undo_copy_age_->mark()->Reset(applied);
  }
  if (heap_age_->mark()->end() != ring_->applied()) {
    heap_age_->mark()->Reset(applied);
    ring_->TakeBackApplied(applied);
  }
  return absl::OkStatus();
}

void Storage::MarkWithRing() {
  std::vector<replica::AppliedMark*> marks = {heap_age_->mark()};
  if (undo_copy_age_.has_value()) marks.push_back(undo_copy_age_->mark());
  ring_->SetOtherMarks(std::move(marks));
}

void Storage::RenewStamp() {
  // An earlier start began to.
  if (record_->state().next_nonce != 0) FinishRenewal();
  NodeState state = record_->state();
  state.next_nonce = NextNonce(Stamp(), options_.salt);
  record_->Update(state);
  FinishRenewal();
}

void Storage::FinishRenewal() {
  NodeState state = record_->state();
  ++state.incarnation;
  state.nonce = std::exchange(state.next_nonce, 0);
  heap_age_->SetStamp({state.incarnation, state.nonce});
  record_->Update(state);
}

// --- Recovery.

void Storage::EmptyLog() {
  const absl::Span<std::byte> log = heap_->log_area();
  heap_region_->ZeroFlush(log.data(), log.size());
  heap_region_->Drain();
}

absl::Status Storage::Recover() {
  if (record_->state().condition == Condition::kReceiving) {
    EmptyLog();
    return absl::OkStatus();  // not a heap that can be loaded
  }
  if (record_->state().was_head) return RecoverHead();
  return record_->state().local_undo ? RecoverReplica() : heap_->Load();
}

// --- State transfer.

void Storage::BeginReceiving() {
  local_undo_.reset();
  local_backup_.reset();
  NodeState state = record_->state();
  state.condition = Condition::kReceiving;
  state.was_head = state.local_undo = false;
  // Its future content was never a member's.
  state.view_id = 0;
  state.heap_id = NextHeapId(state.heap_id, record_->serial(), options_.salt);
  record_->Update(state);
  ForgetUndoCopyAge();
  EmptyLog();
}

absl::Status Storage::FinishReceiving(uint64_t sequence) {
  heap_region_->Drain();
  RETURN_IF_ERROR(heap_->Load());
  if (heap_region_->SyncsPages()) drains_.Begin();
  ring_->Restart(sequence, static_cast<uint32_t>(record_->serial()));
  NodeState state = record_->state();
  state.condition = Condition::kBehind;
  Record(state);
  return absl::OkStatus();
}

void Storage::Record(const NodeState& state) {
  if (!drains_.deferred()) return record_->Update(state);
  record_->UpdateLater(state, [this] { drains_.End(); });
}

}  // namespace kamino::node
