// Transactions that committed with CommitOptions::hold_locks, by sequence,
// until ReleaseHold: their locks stay held although the undo copy has the
// changes. Private to the store.
//
// Thread-safe. Owns the states that wait only for their release.
#ifndef KAMINO_ENGINE_KAMINO_HELD_TRANSACTIONS_H_
#define KAMINO_ENGINE_KAMINO_HELD_TRANSACTIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "engine/kamino/transaction_state.h"

namespace kamino::engine {

class HeldTransactions {
 public:
  using State = std::unique_ptr<TransactionState>;

  // A transaction has committed that is to be released.
  void Expect(uint64_t sequence);

  // The undo copy has the changes of an expected transaction. Returns it if it
  // was released before; else keeps it and returns null.
  State Keep(State state);

  // Keeps a transaction that was not expected.
  void Add(State state);

  // Returns the transaction if it was kept. Null: Keep will return it, or it is
  // not held.
  State Release(uint64_t sequence);

  // How many are kept.
  size_t kept() const;

 private:
  // The state is set once the undo copy has the changes.
  struct Held {
    State state;
    bool released = false;
  };

  mutable absl::Mutex mutex_;
  std::map<uint64_t, Held> held_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_HELD_TRANSACTIONS_H_
