#include "engine/kamino/transaction_locks.h"

#include "absl/strings/str_cat.h"

namespace kamino::engine {

absl::Status ObjectNotFound(ObjectId id) {
  return absl::NotFoundError(absl::StrCat("no object has the id ", id));
}

namespace {

TransactionState::Object* NotFreed(TransactionState::Object* object,
                                   absl::Status* error) {
  if (!object->freed) return object;
  *error = ObjectNotFound(object->id);
  return nullptr;
}

}  // namespace

std::nullptr_t TransactionLocks::Conflict(ObjectId id, absl::Status* error) {
  conflict_ = id;
  *error = absl::AbortedError(
      absl::StrCat("object ", id, " is locked by another transaction"));
  return nullptr;
}

TransactionLocks::Object* TransactionLocks::LockShared(ObjectId id,
                                                       absl::Status* error) {
  Object* object = state_->Find(id);
  if (object == nullptr) {
    const auto take = [&](absl::Duration wait) {
      return parts_.locks->LockShared(id, state_->owner, wait);
    };
    if (!take(absl::ZeroDuration()) &&
        !parts_.pipeline->AwaitLock(id, wait_, take)) {
      return Conflict(id, error);
    }
    object = &state_->Add(id);
  }
  return NotFreed(object, error);
}

TransactionLocks::Object* TransactionLocks::LockExclusive(ObjectId id,
                                                          absl::Status* error) {
  Object* object = state_->Find(id);
  if (object == nullptr || !object->exclusive) {
    const auto take = [&](absl::Duration wait) {
      return parts_.locks->LockExclusive(id, state_->owner,
                                         /*upgrade=*/object != nullptr, wait);
    };
    if (!take(absl::ZeroDuration()) &&
        !parts_.pipeline->AwaitLock(id, wait_, take)) {
      return Conflict(id, error);
    }
    if (object == nullptr) object = &state_->Add(id);
    object->exclusive = true;
  }
  return NotFreed(object, error);
}

void TransactionLocks::UnlockShared() {
  for (const Object& object : state_->objects) {
    if (!object.exclusive) parts_.locks->UnlockShared(object.id);
  }
}

}  // namespace kamino::engine
