// Kamino-Tx on one heap (sections 3 and 4): transactions write in place, and
// can be aborted by an undo copy to which changes are propagated off the
// critical path.
//
// A commit takes one drain where the paper's takes three. The intents of
// recently written objects are durable already (StickyIntents), and the commit
// record carries a checksum of the data it commits, so that it may become
// durable together with the data (CommitLog).
//
// Invariants:
//   1. Before the first store to an object, a copy of it, and then an intent
//      for it, are durable.
//   2. A transaction is committed once its record and all its changes are
//      durable. The record's checksum shows that.
//   3. An object is locked exclusively from its first intent until the undo
//      copy durably holds the transaction's changes and, with hold_locks, until
//      ReleaseHold. So the undo copy's copy of a locked object is its state
//      before the transaction, and of any other its current state.
//   4. A transaction's locks are released, its record is dropped and its freed
//      space given back only when all of its changes are in the undo copy,
//      durably.
//   5. The states of blocks are stored after the commit; recovery stores them
//      if a crash came before.
//
// Over an undo log (UndoCopy::undo_log) it is undo logging: the bytes of an
// intent are saved, durably, before a store to them, and not needed any more
// once the transaction is committed. There are no copies and no intents that
// outlive their transaction, and locks are released once the states of blocks
// are durable. Every transaction that changes anything then has a
// CommitOptions::sequence higher than the one before, which tells what is
// committed.
//
// CommitOptions::before_mark is called when every store is durable.
//
// Thread-safe, but a Transaction is one thread's; over an undo log only one at
// a time may change anything. The store must outlive its transactions.
#ifndef KAMINO_ENGINE_KAMINO_KAMINO_STORE_H_
#define KAMINO_ENGINE_KAMINO_KAMINO_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "engine/heap/open_snapshots.h"
#include "engine/kamino/commit_log.h"
#include "engine/kamino/commit_pipeline.h"
#include "engine/kamino/lock_table.h"
#include "engine/kamino/range_saver.h"
#include "engine/kamino/sticky_intents.h"
#include "engine/kamino/store_parts.h"
#include "engine/kamino/undo_copy.h"
#include "engine/kamino/undo_copy_writer.h"
#include "engine/transaction.h"
#include "engine/transactional_store.h"

namespace kamino::engine {

struct KaminoStats {
  uint64_t committed = 0;
  uint64_t aborted = 0;
  uint64_t unpropagated = 0;    // committed, not yet in the undo copy
  uint64_t held = 0;            // in the undo copy, waiting for ReleaseHold
  uint64_t locked_objects = 0;  // exclusively
  UndoCopyStats undo_copy;
};

struct KaminoOptions {
  // When changes are propagated to the undo copy: by the thread's next Commit,
  // whose drain serves for both, or by PropagateToUndoCopy only. The former is
  // cheaper; the latter keeps it off the critical path altogether.
  bool copy_at_commit = true;
  // Called by Open with the future last_sequence(), for a user that stores it
  // elsewhere: committed transactions are durable by then, and the log, which
  // knows the sequence, is emptied afterwards. So after a crash in between Open
  // calls it again. An error makes Open fail. May be null.
  std::function<absl::Status(uint64_t last_sequence)> on_recovered;
  // Notified of changes before transactions make them. Then only one thread may
  // run transactions. May be null; outlives the store.
  OpenSnapshots* snapshots = nullptr;
};

class KaminoStore final : public TransactionalStore {
 public:
  // Recovers after a crash: rolls back transactions that did not commit, rolls
  // the committed ones forward, then loads the heap. Repeating it after another
  // crash has the same result. No transaction may be running on the heap, which
  // must outlive the store. kDataLoss: log, undo copy or heap are damaged.
  static absl::StatusOr<std::unique_ptr<KaminoStore>> Open(
      Heap* heap, std::unique_ptr<UndoCopy> undo_copy,
      const KaminoOptions& options = {});

  // No transaction may be live. Propagates all remaining changes, so that
  // nothing needs recovery.
  ~KaminoStore() override;

  absl::string_view scheme() const override { return undo_copy_->scheme(); }
  std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) override;
  ObjectId root() const override { return heap_->root(); }
  // Except transactions with hold_locks.
  void Quiesce() override { pipeline_.PropagateAll(); }
  uint64_t bytes_used() const override;
  // Only the last sequence is known.
  RecoveryReport recovery_report() const override {
    RecoveryReport report;
    report.last_sequence = last_sequence_;
    return report;
  }

  // Propagates the changes of up to `max` committed transactions, durably, and
  // releases their locks. Returns how many transactions are left.
  size_t PropagateToUndoCopy(size_t max);
  // How many committed transactions the undo copy lacks; may leave out commits
  // that other threads have just made. Cheap.
  size_t LackedByUndoCopy() const { return pipeline_.lanes().PendingOfMine(); }

  // Over an undo log: this thread has made its flushes durable, in all regions.
  // Releases locks that waited for that, and saves a drain.
  void OnDrained() { pipeline_.OnDrained(); }

  // See CommitOptions::hold_locks. A sequence that is not held is ignored.
  void ReleaseHold(uint64_t sequence) { pipeline_.ReleaseHold(sequence); }

  // Section 5.2: locks the objects of a transaction that this heap already
  // holds (executed as a replica), until ReleaseHold(sequence). Space that it
  // freed is not reused until then. In ascending order of sequence, before any
  // Begin.
  void HoldLocks(uint64_t sequence, const WriteSet& write_set) {
    pipeline_.HoldLocks(sequence, write_set);
  }

  // Called, with no lock of the store held, on the thread that released or
  // aborted, with the objects whose exclusive lock was released. Null to unset.
  // Set while no transaction runs.
  void SetUnlockListener(
      std::function<void(absl::Span<const ObjectId>)> listener) {
    pipeline_.SetUnlockListener(std::move(listener));
  }

  // Largest CommitOptions::sequence of all transactions that had committed by
  // the time of Open since a store was last destroyed on the heap, over any
  // number of crashes; 0 when there was none.
  uint64_t last_sequence() const { return last_sequence_; }

  Heap* heap() const { return heap_; }
  KaminoStats stats() const;

 private:
  KaminoStore(Heap* heap, std::unique_ptr<UndoCopy> undo_copy,
              const KaminoOptions& options);

  Heap* const heap_;
  const std::unique_ptr<UndoCopy> undo_copy_;
  bool recovered_ = false;  // else the destructor must leave the log alone
  uint64_t last_sequence_ = 0;
  CommitLog log_;
  LockTable locks_;
  StickyIntents sticky_;
  RangeSaver saver_;
  UndoCopyWriter writer_;
  CommitPipeline pipeline_;
  const StoreParts parts_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_KAMINO_STORE_H_
