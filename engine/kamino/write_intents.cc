#include "engine/kamino/write_intents.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/heap/heap_format.h"
#include "engine/resource_error.h"

namespace kamino::engine {

absl::Status WriteIntents::EnsureCopyAndIntent(Object* object) {
  for (bool again = true;; again = false) {
    if (object->copy == nullptr) {
      auto copy = parts_.undo_copy->EnsureCopy(object->id);
      if (!copy.ok() && again && parts_.pipeline->PropagateAll()) continue;
      if (!copy.ok()) return ExplainNoCopy(*object, copy.status());
      object->copy = *copy;
    }
    const StickyIntents::Added added = parts_.sticky->Add(object->id);
    switch (added) {
      case StickyIntents::Added::kNew:
      case StickyIntents::Added::kReplaced:
        undrained_.push_back(
            {object->id, added == StickyIntents::Added::kReplaced});
        object->intended = true;
        if (!gathers_) Drain();
        return absl::OkStatus();
      case StickyIntents::Added::kWasThere:
        object->intended = true;
        return absl::OkStatus();
      case StickyIntents::Added::kNoRoom:
        if (again && parts_.pipeline->PropagateAll()) continue;
        return ResourceError(
            parts_.locks->exclusive() > state_->objects.size()
                ? Resource::kLog
                : Resource::kTransaction,
            "as many objects are locked as the log has room for intents");
    }
  }
}

void WriteIntents::Drain() {
  if (undrained_.empty()) return;
  parts_.heap->region()->Drain();
  for (const Undrained& one : undrained_) {
    if (one.replaced) parts_.sticky->Drained(one.id);
  }
  undrained_.clear();
}

absl::Status WriteIntents::ExplainNoCopy(const Object& object,
                                         const absl::Status& error) {
  if (ResourceOf(error) != Resource::kUndoCopy) return error;
  const auto bytes_of = [this](const Object& one) {
    const size_t bytes = parts_.heap->BlockPayload(one.id).size();
    return heap_format::UnitsFor(bytes) * heap_format::kUnitBytes;
  };
  uint64_t needs = bytes_of(object);
  for (const Object& other : state_->objects) {
    if (other.copy != nullptr && !other.allocated) needs += bytes_of(other);
  }
  const uint64_t room = parts_.undo_copy->stats().bytes_total;
  fragmented_ = needs <= room;
  if (fragmented_) return error;
  return ResourceError(
      Resource::kTransaction,
      absl::StrCat("the transaction writes to objects of at least ", needs,
                   " bytes in all, and the undo copy has room for ", room,
                   ": split it, or give the nodes a larger undo copy"));
}

absl::Status WriteIntents::EnsureAll(std::vector<ObjectId> lacking) {
  std::sort(lacking.begin(), lacking.end());
  lacking.erase(std::unique(lacking.begin(), lacking.end()), lacking.end());
  const std::vector<std::byte*> copies =
      parts_.undo_copy->EnsureCopies(lacking);
  for (size_t i = 0; i < lacking.size(); ++i) {
    state_->Find(lacking[i])->copy = copies[i];
  }
  Gather();
  absl::Status made;
  for (size_t i = 0; i < lacking.size() && made.ok(); ++i) {
    made = EnsureCopyAndIntent(state_->Find(lacking[i]));
  }
  DrainGathered();
  return made;
}

}  // namespace kamino::engine
