// The locks that one transaction takes: shared for objects that it reads,
// exclusive for those it declares. Exclusive ones belong to the store after the
// transaction's end. Private to the store.
//
// Not thread-safe.
#ifndef KAMINO_ENGINE_KAMINO_TRANSACTION_LOCKS_H_
#define KAMINO_ENGINE_KAMINO_TRANSACTION_LOCKS_H_

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engine/kamino/store_parts.h"
#include "engine/kamino/transaction_state.h"
#include "engine/transaction.h"

namespace kamino::engine {

class TransactionLocks {
 public:
  using Object = TransactionState::Object;

  // Waits up to `wait` for each lock. `state` is used until the transaction
  // ends.
  TransactionLocks(const StoreParts& parts, TransactionState* state,
                   absl::Duration wait)
      : parts_(parts), state_(state), wait_(wait) {}

  // Both return the object, locked and not freed, which is valid until the next
  // one is locked. Null: `*error` says why. kAborted: conflict() says which
  // lock.
  Object* LockShared(ObjectId id, absl::Status* error);
  Object* LockExclusive(ObjectId id, absl::Status* error);
  void UnlockShared();

  // See Transaction.
  std::optional<ObjectId> conflict() const { return conflict_; }
  void ForgetConflict() { conflict_.reset(); }

 private:
  std::nullptr_t Conflict(ObjectId id, absl::Status* error);

  const StoreParts& parts_;
  TransactionState* const state_;
  const absl::Duration wait_;
  std::optional<ObjectId> conflict_;
};

// For an object that does not exist, or not any more.
absl::Status ObjectNotFound(ObjectId id);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_TRANSACTION_LOCKS_H_
