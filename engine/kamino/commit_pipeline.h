// The way of a transaction from its end to the release of its locks: its
// changes are propagated to the undo copy, by the thread's next commit or by
// whichever thread needs its locks or its place in the log; then it may be
// held. Private to the store.
//
// Thread-safe. Owns the states of ended transactions.
#ifndef KAMINO_ENGINE_KAMINO_COMMIT_PIPELINE_H_
#define KAMINO_ENGINE_KAMINO_COMMIT_PIPELINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "engine/kamino/commit_lanes.h"
#include "engine/kamino/commit_log.h"
#include "engine/kamino/held_transactions.h"
#include "engine/kamino/lock_table.h"
#include "engine/kamino/range_saver.h"
#include "engine/kamino/transaction_state.h"
#include "engine/kamino/undo_copy_writer.h"
#include "engine/transaction.h"

namespace kamino::engine {

class CommitPipeline {
 public:
  using State = std::unique_ptr<TransactionState>;
  using Batch = CommitLanes::Batch;
  using Turn = CommitLanes::Turn;
  using UnlockListener = std::function<void(absl::Span<const ObjectId>)>;

  // Each outlives the pipeline.
  struct Parts {
    Heap* heap;
    LockTable* locks;
    CommitLog* log;
    RangeSaver* saver;
    UndoCopyWriter* writer;
  };
  CommitPipeline(const Parts& parts, bool copy_at_commit)
      : heap_(parts.heap),
        locks_(parts.locks),
        log_(parts.log),
        saver_(parts.saver),
        writer_(parts.writer),
        copy_at_commit_(copy_at_commit) {}

  // Whether a thread's next commit propagates the changes of the one before.
  bool copies_at_commit() const { return copy_at_commit_; }

  // --- For transactions.

  // After a first attempt to lock the object has failed: calls `take`, which
  // tries to lock it, with the time it may wait. Meanwhile releases locks that
  // only wait for a drain.
  bool AwaitLock(ObjectId id, absl::Duration wait,
                 absl::FunctionRef<bool(absl::Duration)> take);
  // Room in the log; waits for other threads' commits if it must.
  CommitLog::Claim ClaimRecord(size_t entries);
  Turn TakeTurn() { return copy_at_commit_ ? lanes_.TakeTurn() : Turn(); }
  // The record is durable; so are the copies of turn.before.
  void Committed(State state, Turn turn);
  void CommittedNothing(State state);
  // Everything is rolled back, durably.
  void Aborted(State state);

  // --- Propagation.

  // Propagates up to `max` transactions, durably, and releases their locks.
  // Returns how many there were.
  size_t PropagateSome(size_t max);
  // False: there was nothing.
  bool PropagateAll() { return PropagateSome(SIZE_MAX) > 0; }
  // As KaminoStore's.
  void OnDrained();

  // --- Held locks; as KaminoStore's.

  void HoldLocks(uint64_t sequence, const WriteSet& write_set);
  void ReleaseHold(uint64_t sequence);
  void SetUnlockListener(UnlockListener listener) {
    listener_ = std::move(listener);
  }

  const CommitLanes& lanes() const { return lanes_; }
  const HeldTransactions& held() const { return held_; }

 private:
  // Copies, drains, and releases the locks. Returns how many there were.
  size_t PropagateBatch(Batch batch);
  // The undo copy durably holds its changes.
  void Propagated(State state);
  // Releases the locks and gives freed space back.
  void Unlock(State state);

  Heap* const heap_;
  LockTable* const locks_;
  CommitLog* const log_;
  RangeSaver* const saver_;
  UndoCopyWriter* const writer_;
  const bool copy_at_commit_;
  CommitLanes lanes_;
  HeldTransactions held_;
  UnlockListener listener_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_COMMIT_PIPELINE_H_
