#include "engine/kamino/transaction_locks.h"

#include "absl/strings/str_cat.h"

namespace kamino::engine {

absl::Status ObjectNotFound(ObjectId id) {
  return absl::NotFoundError(absl::StrCat("no object has the id ", id));
}

absl::Status TransactionLocks::Conflict(ObjectId id) {
  conflict_ = id;
  return absl::AbortedError(
      absl::StrCat("object ", id, " is locked by another transaction"));
}

absl::Status TransactionLocks::LockShared(ObjectId id) {
  if (state_->Find(id) != nullptr) return absl::OkStatus();
  const auto take = [&](absl::Duration wait) {
    return locks_->LockShared(id, state_->owner, wait);
  };
  if (!pipeline_->LockOrPropagate(id, wait_, take)) return Conflict(id);
  state_->Add(id);
  return absl::OkStatus();
}

absl::StatusOr<TransactionLocks::Object*> TransactionLocks::LockExclusive(
    ObjectId id) {
  Object* object = state_->Find(id);
  if (object == nullptr || !object->exclusive) {
    const auto take = [&](absl::Duration wait) {
      return locks_->LockExclusive(id, state_->owner,
                                   /*upgrade=*/object != nullptr, wait);
    };
    if (!pipeline_->LockOrPropagate(id, wait_, take)) return Conflict(id);
    if (object == nullptr) object = &state_->Add(id);
    object->exclusive = true;
  }
  if (object->freed) return ObjectNotFound(id);
  return object;
}

void TransactionLocks::UnlockShared() {
  for (const Object& object : state_->objects) {
    if (!object.exclusive) locks_->UnlockShared(object.id);
  }
}

}  // namespace kamino::engine
