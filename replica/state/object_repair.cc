#include "replica/state/object_repair.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::replica {

using engine::Intent;
using engine::IntentKind;
using engine::ObjectId;
using engine::WriteSet;

namespace {

// For each object: the intents from its last allocation or free on, or, in the
// backward direction, up to the first one.
WriteSet LastWordOnly(RepairDirection direction, const WriteSet& intents) {
  const bool forward = direction == RepairDirection::kForward;
  absl::flat_hash_map<ObjectId, size_t> decides;
  for (size_t i = 0; i < intents.size(); ++i) {
    if (intents[i].kind == IntentKind::kWrite) continue;
    size_t& which = decides.try_emplace(intents[i].object, i).first->second;
    if (forward) which = i;
  }
  WriteSet left;
  for (size_t i = 0; i < intents.size(); ++i) {
    const auto found = decides.find(intents[i].object);
    const bool counts = found == decides.end() ||
                        (forward ? i >= found->second : i <= found->second);
    if (counts) left.push_back(intents[i]);
  }
  return left;
}

}  // namespace

void ObjectRepair::Order(RepairDirection direction, WriteSet* intents) {
  *intents = LastWordOnly(direction, *intents);
  const auto rank = [direction](const Intent& intent) {
    switch (intent.kind) {
      case IntentKind::kAlloc:
        return direction == RepairDirection::kForward ? 0 : 2;
      case IntentKind::kFree:
        return direction == RepairDirection::kForward ? 2 : 0;
      default:
        return 1;
    }
  };
  std::stable_sort(
      intents->begin(), intents->end(),
      [rank](const Intent& a, const Intent& b) { return rank(a) < rank(b); });
}

absl::Status ObjectRepair::Begin(const WriteSet& intents) {
  std::vector<ObjectId> wanted;
  for (const Intent& intent : intents) wanted.push_back(intent.object);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  ASSIGN_OR_RETURN(blocks_, heap_->Load(wanted));
  return absl::OkStatus();
}

absl::Status ObjectRepair::BeginWhole(const WriteSet& intents) {
  blocks_.clear();
  for (const Intent& intent : intents) {
    if (blocks_.contains(intent.object)) continue;
    if (intent.kind == IntentKind::kAlloc) {
      // Not a block yet, whatever the bytes there are.
      blocks_[intent.object] = {};
      continue;
    }
    const auto payload = heap_->Payload(intent.object);
    if (!payload.ok()) {
      return absl::DataLossError(
          absl::StrCat("diverged: a log entry touches object ", intent.object,
                       ": ", payload.status().message()));
    }
    blocks_[intent.object] = {static_cast<uint32_t>(payload->size()), true};
  }
  return absl::OkStatus();
}

bool ObjectRepair::IsAllocated(ObjectId id) const {
  const auto found = blocks_.find(id);
  return found != blocks_.end() && found->second.allocated;
}

absl::Status ObjectRepair::Store(const Intent& intent,
                                 absl::string_view bytes) {
  const uint64_t capacity = blocks_[intent.object].capacity;
  if (intent.offset > capacity || intent.length > capacity - intent.offset) {
    return absl::DataLossError(
        absl::StrCat("diverged: object ", intent.object, " has ", capacity,
                     " bytes here, of which a neighbour has [", intent.offset,
                     " + ", intent.length, ")"));
  }
  engine::Region* region = heap_->region();
  region->CopyFlush(region->base() + intent.object + intent.offset,
                    bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::Status ObjectRepair::MakeAllocated(const Intent& intent,
                                         absl::string_view bytes) {
  engine::Heap::Block& block = blocks_[intent.object];
  const bool allocated = block.allocated;
  if (!allocated) {
    // A block must be free on media before the allocator can give it out again.
    if (std::exchange(freed_, false)) heap_->region()->Drain();
    RETURN_IF_ERROR(heap_->ReserveAt(intent.object, intent.length));
    block = {intent.length, true};
  }
  RETURN_IF_ERROR(Store(intent, bytes));
  if (!allocated) heap_->states().MarkAllocated(intent.object);
  return absl::OkStatus();
}

void ObjectRepair::MakeFree(const Intent& intent) {
  if (!IsAllocated(intent.object)) return;
  heap_->states().MarkFree(intent.object);
  heap_->Release(intent.object);
  freed_ = true;
  blocks_[intent.object].allocated = false;
}

bool ObjectRepair::Stores(const Intent& intent,
                          RepairDirection direction) const {
  switch (intent.kind) {
    case IntentKind::kWrite:
      return IsAllocated(intent.object);
    case IntentKind::kAlloc:
      return direction == RepairDirection::kForward;
    case IntentKind::kFree:
      return direction == RepairDirection::kBack;
  }
  return false;
}

absl::Status ObjectRepair::Apply(const Intent& intent, absl::string_view bytes,
                                 RepairDirection direction) {
  if (Stores(intent, direction) && bytes.size() != intent.length) {
    return absl::InvalidArgumentError(
        absl::StrCat("object ", intent.object, ": ", bytes.size(),
                     " bytes came; ", intent.length, " were requested"));
  }
  switch (intent.kind) {
    case IntentKind::kWrite:
      // The same entry freed it: there is nothing to store to.
      return IsAllocated(intent.object) ? Store(intent, bytes)
                                        : absl::OkStatus();
    case IntentKind::kAlloc:
      if (direction == RepairDirection::kForward) {
        return MakeAllocated(intent, bytes);
      }
      MakeFree(intent);
      return absl::OkStatus();
    case IntentKind::kFree:
      if (direction == RepairDirection::kBack) {
        return MakeAllocated(intent, bytes);
      }
      MakeFree(intent);
      return absl::OkStatus();
  }
  return absl::DataLossError("an intent of no known kind");
}

}  // namespace kamino::replica
