// Over an undo log: saves the old bytes of a transaction's ranges before it
// stores to them, and stores them back when it aborts. Over copies of whole
// objects it does nothing. Private to the store.
//
// Not thread-safe: over an undo log one transaction stores at a time
// (asserted).
#ifndef KAMINO_ENGINE_KAMINO_RANGE_SAVER_H_
#define KAMINO_ENGINE_KAMINO_RANGE_SAVER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "engine/kamino/lock_table.h"
#include "engine/kamino/transaction_state.h"
#include "engine/kamino/undo_log.h"
#include "engine/pmem/region.h"
#include "engine/transaction.h"

namespace kamino::engine {

class RangeSaver {
 public:
  // `log` may be null: there is no undo log. `heap` is the heap's region. Both
  // outlive this.
  RangeSaver(UndoLog* log, Region* heap) : log_(log), heap_(heap) {}

  // Whether there is an undo log.
  bool saves() const { return log_ != nullptr; }

  // The largest sequence of all that have committed before.
  void StartAfter(uint64_t sequence) { committed_ = sequence; }

  // Before any store to the transaction's ranges, or to `more`, which are
  // declared next: saves their bytes, as far as they are not saved.
  // kResourceExhausted: there is no room.
  absl::Status Save(TransactionState* state,
                    absl::Span<const Intent> more = {}) {
    return saves() ? SaveRanges(state, more) : absl::OkStatus();
  }
  // The same for one that is declared next, unless it was foreseen.
  absl::Status SaveNext(TransactionState* state, const Intent& intent) {
    return saves() ? SaveUnforeseen(state, intent) : absl::OkStatus();
  }

  // --- With an undo log only.

  // Stores the saved bytes back, durably.
  void Restore(const TransactionState& state);
  // The transaction is committed: its saved bytes are not needed any more.
  void Committed(const TransactionState& state);
  // The heap needs no recovery.
  void Forget() { log_->Forget(); }

 private:
  absl::Status SaveRanges(TransactionState* state,
                          absl::Span<const Intent> more);
  absl::Status SaveUnforeseen(TransactionState* state, const Intent& intent);

  UndoLog* const log_;
  Region* const heap_;
  uint64_t committed_ = 0;      // the largest of all that have committed
  LockTable::Owner owner_ = 0;  // the owner with saved bytes; 0: none
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_RANGE_SAVER_H_
