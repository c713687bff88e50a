#include "node/storage/storage.h"

#include <xxhash.h>

#include <cstring>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "node/storage/start_recovery.h"
#include "node/storage/wrapped_media.h"

namespace kamino::node {
namespace {

using engine::Region;
using engine::UndoCopy;
using membership::Condition;
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

}  // namespace

Storage::Storage(StorageOptions options, std::unique_ptr<Media> media)
    : options_(std::move(options)),
      media_(WithWrappedRegions(std::move(media),
                                [this](std::unique_ptr<Region> region) {
                                  return drains_.Wrap(std::move(region));
                                })),
      undo_copy_(&options_, media_.get()) {}

absl::StatusOr<std::unique_ptr<Storage>> Storage::Open(
    StorageOptions options, std::unique_ptr<Media> media) {
  auto storage =
      absl::WrapUnique(new Storage(std::move(options), std::move(media)));
  // The heap is published last, so if it exists, all do.
  RETURN_IF_ERROR(storage->media_->Exists(Part::kHeap) ? storage->OpenExisting()
                                                       : storage->Create());
  if (storage->options_.reserve_undo_copy) {
    RETURN_IF_ERROR(storage->undo_copy_.Reserve());
  }
  return storage;
}

absl::Status Storage::Create() {
  for (Part part : {Part::kRing, Part::kUndoCopy}) {
    RETURN_IF_ERROR(media_->Remove(part));
  }
  ASSIGN_OR_RETURN(heap_, StoredHeap::Create(options_, media_.get()));
  ASSIGN_OR_RETURN(ring_, StoredRing::Create(&options_, media_.get(), *heap()));
  age_.emplace(heap_.get(), ring_.get(), &undo_copy_, options_.salt);
  age_->Begin();
  RETURN_IF_ERROR(media_->Publish(Part::kRing));
  return media_->Publish(Part::kHeap);
}

absl::Status Storage::OpenExisting() {
  ASSIGN_OR_RETURN(heap_, StoredHeap::Open(options_, media_.get()));
  ASSIGN_OR_RETURN(ring_, StoredRing::Open(&options_, media_.get(), *heap()));
  RETURN_IF_ERROR(restarts()->Check(options_.node_id, heap_->name()));
  if (heap_region()->size() != options_.heap_bytes) return BeginAnewIfUnused();
  age_.emplace(heap_.get(), ring_.get(), &undo_copy_, options_.salt);
  RETURN_IF_ERROR(age_->Check());
  RETURN_IF_ERROR(ring_->Resize());
  age_->MarkWithRing();
  restarts()->OnStart();  // recovery itself may crash it
  StartRecovery recovery(heap_.get(), ring_.get(), &undo_copy_, &*age_);
  if (absl::Status done = recovery.Run(); !done.ok()) {
    restarts()->OnRefused();
    return media_->WithName(done, Part::kHeap);
  }
  age_->RenewStamp();
  return absl::OkStatus();
}

absl::Status Storage::BeginAnewIfUnused() {
  const std::string name = heap_->name();
  const uint64_t size_mb = heap_->region()->size() >> 20;
  if (record()->state().condition != Condition::kFresh) {
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
  heap_.reset();
  RETURN_IF_ERROR(media_->Remove(Part::kHeap));
  return Create();
}

// --- The undo copy.

absl::StatusOr<std::unique_ptr<UndoCopy>> Storage::NewUndoCopy() {
  ring_->EndUndoCopy();
  age_->ForgetUndoCopy();
  local_undo_.reset();
  local_undo_copy_.reset();
  RETURN_IF_ERROR(undo_copy_.Reserve());
  ASSIGN_OR_RETURN(auto undo_copy, undo_copy_.NewUndoCopy(heap()));
  age_->AddUndoCopy();
  return undo_copy;
}

absl::StatusOr<replica::LocalUndo*> Storage::BeginLocalUndo() {
  if (local_undo_ != nullptr) return local_undo_.get();
  CHECK(!record()->state().was_head)
      << "the head rolls back with its undo copy";
  ASSIGN_OR_RETURN(local_undo_copy_, NewUndoCopy());
  // An undo log tells its records from old ones by the number of its round, so
  // that number is durable before any record of the round is.
  if (drains_.deferred()) drains_.DrainNow();
  local_undo_ = replica::MakeLocalUndo(heap(), ring(), local_undo_copy_.get());
  NodeState state = record()->state();
  state.local_undo = true;
  Record(state);
  return local_undo_.get();
}

// --- State transfer.

void Storage::BeginReceiving() {
  local_undo_.reset();
  local_undo_copy_.reset();
  NodeState state = record()->state();
  state.condition = Condition::kReceiving;
  state.was_head = state.local_undo = false;
  // Its future content was never a member's.
  state.view_id = 0;
  state.heap_id = NextHeapId(state.heap_id, record()->serial(), options_.salt);
  record()->Update(state);
  age_->ForgetUndoCopy();
  heap_->EmptyLog();
}

absl::Status Storage::FinishReceiving(uint64_t sequence) {
  heap_region()->Drain();
  RETURN_IF_ERROR(heap()->Load());
  if (heap_region()->SyncsPages()) drains_.Begin();
  ring()->Restart(sequence, static_cast<uint32_t>(record()->serial()));
  NodeState state = record()->state();
  state.condition = Condition::kBehind;
  Record(state);
  return absl::OkStatus();
}

void Storage::Record(const NodeState& state) {
  if (!drains_.deferred()) return record()->Update(state);
  record()->UpdateLater(state, [this] { drains_.End(); });
}

}  // namespace kamino::node
