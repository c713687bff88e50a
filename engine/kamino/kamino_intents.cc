// Makes intents and copies durable before a transaction stores.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/heap/heap_format.h"
#include "engine/kamino/kamino_transaction.h"
#include "engine/resource_error.h"

namespace kamino::engine {

absl::Status KaminoTransaction::MakeSticky(Object* object) {
  // Ranges are saved when they are known.
  if (store_->undo_log_ != nullptr) return absl::OkStatus();
  for (bool again = true;; again = false) {
    if (object->copy == nullptr) {
      auto copy = store_->backup_->EnsureCopy(object->id);
      if (!copy.ok() && again && store_->PropagateAll()) continue;
      if (!copy.ok()) return ExplainNoCopy(*object, copy.status());
      object->copy = *copy;
    }
    const StickyIntents::Added added = store_->sticky_.Add(object->id);
    switch (added) {
      case StickyIntents::Added::kNew:
      case StickyIntents::Added::kReplaced:
        undrained_.push_back(
            {object->id, added == StickyIntents::Added::kReplaced});
        object->intended = true;
        if (!declares_many_) DrainIntents();
        return absl::OkStatus();
      case StickyIntents::Added::kWasThere:
        object->intended = true;
        return absl::OkStatus();
      case StickyIntents::Added::kNoRoom:
        if (again && store_->PropagateAll()) continue;
        return ResourceError(
            store_->locks_.exclusive() > state_->objects.size()
                ? Resource::kLog
                : Resource::kTransaction,
            "as many objects are locked as the log has room for intents");
    }
  }
}

void KaminoTransaction::DrainIntents() {
  if (undrained_.empty()) return;
  store_->heap_->region()->Drain();
  for (const Undrained& one : undrained_) {
    if (one.replaced) store_->sticky_.Drained(one.id);
  }
  undrained_.clear();
}

absl::Status KaminoTransaction::ExplainNoCopy(const Object& object,
                                              const absl::Status& error) {
  if (ResourceOf(error) != Resource::kBackup) return error;
  const auto bytes_of = [this](const Object& one) {
    const size_t bytes = store_->heap_->BlockPayload(one.id).size();
    return heap_format::UnitsFor(bytes) * heap_format::kUnitBytes;
  };
  uint64_t needs = bytes_of(object);
  for (const Object& other : state_->objects) {
    if (other.copy != nullptr && !other.allocated) needs += bytes_of(other);
  }
  const uint64_t room = store_->backup_->stats().bytes_total;
  parts_backup_ = needs <= room;
  if (parts_backup_) return error;
  return ResourceError(
      Resource::kTransaction,
      absl::StrCat("the transaction writes to objects of at least ", needs,
                   " bytes in all, and the undo copy has room for ", room,
                   ": split it, or give the nodes a larger undo copy"));
}

absl::Status KaminoTransaction::Declare(absl::Span<const Intent> intents) {
  RETURN_IF_ERROR(CheckWritesOnly(intents));
  RETURN_IF_ERROR(ForeseeWrites(intents));
  declares_many_ = true;
  const absl::Status done = Transaction::Declare(intents);
  declares_many_ = false;
  // Also after an error: other transactions treat these intents as durable.
  DrainIntents();
  return done;
}

bool KaminoTransaction::gathers_copies() const {
  return store_->undo_log_ == nullptr;
}

absl::Status KaminoTransaction::ExpectWrites(absl::Span<const ObjectId> ids) {
  CHECK(!ended_);
  if (!gathers_copies()) return absl::OkStatus();
  std::vector<ObjectId> lacking;
  for (ObjectId id : ids) {
    ASSIGN_OR_RETURN(const Object* object, LockLive(id));
    if (!object->allocated && !object->intended) lacking.push_back(id);
  }
  std::sort(lacking.begin(), lacking.end());
  lacking.erase(std::unique(lacking.begin(), lacking.end()), lacking.end());
  const std::vector<std::byte*> copies = store_->backup_->EnsureCopies(lacking);
  for (size_t i = 0; i < lacking.size(); ++i) {
    state_->Find(lacking[i])->copy = copies[i];
  }
  declares_many_ = true;
  absl::Status made;
  for (size_t i = 0; i < lacking.size() && made.ok(); ++i) {
    made = MakeSticky(state_->Find(lacking[i]));
  }
  declares_many_ = false;
  // Also after an error: other transactions treat these intents as durable.
  DrainIntents();
  return made;
}

}  // namespace kamino::engine
