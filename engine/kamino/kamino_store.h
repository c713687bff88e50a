// Kamino-Tx on one heap (sections 3 and 4): transactions write in place, and
// can be aborted by a backup to which changes are propagated off the critical
// path.
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
//   3. An object is locked exclusively from its first intent until the backup
//      durably holds the transaction's changes and, with hold_locks, until
//      ReleaseHold. So the backup's copy of a locked object is its state before
//      the transaction, and of any other its current state.
//   4. A transaction's locks are released, its record is dropped and its freed
//      space given back only when all of its changes are in the backup,
//      durably.
//   5. The states of blocks are stored after the commit; recovery stores them
//      if a crash came before.
//
// Over an undo log (Backup::undo_log) it is undo logging: the bytes of an
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

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "engine/heap/open_snapshots.h"
#include "engine/kamino/backup.h"
#include "engine/kamino/commit_log.h"
#include "engine/kamino/lock_table.h"
#include "engine/kamino/spin_lock.h"
#include "engine/kamino/sticky_intents.h"
#include "engine/kamino/transaction_state.h"
#include "engine/transaction.h"
#include "engine/transactional_store.h"

namespace kamino::engine {

struct KaminoStats {
  uint64_t committed = 0;
  uint64_t aborted = 0;
  uint64_t unpropagated = 0;    // committed, not yet in the backup
  uint64_t held = 0;            // in the backup, waiting for ReleaseHold
  uint64_t locked_objects = 0;  // exclusively
  BackupStats backup;
};

struct KaminoOptions {
  // When changes are propagated to the backup: by the thread's next Commit,
  // whose drain serves for both, or by PropagateToBackup only. The former is
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
  // must outlive the store. kDataLoss: log, backup or heap are damaged.
  static absl::StatusOr<std::unique_ptr<KaminoStore>> Open(
      Heap* heap, std::unique_ptr<Backup> backup,
      const KaminoOptions& options = {});

  // No transaction may be live. Propagates all remaining changes, so that
  // nothing needs recovery.
  ~KaminoStore() override;

  absl::string_view scheme() const override { return backup_->scheme(); }
  std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) override;
  ObjectId root() const override { return heap_->root(); }
  // Except transactions with hold_locks.
  void Quiesce() override { PropagateAll(); }
  uint64_t bytes_used() const override;
  // Only the last sequence is known.
  RecoveryReport recovery_report() const override {
    RecoveryReport report;
    report.last_sequence = last_sequence_;
    return report;
  }

  // Propagates the changes of up to `max` committed transactions, durably, and
  // releases their locks. Returns how many transactions are left.
  size_t PropagateToBackup(size_t max);
  // How many committed transactions the backup lacks; may leave out commits
  // that other threads have just made. Cheap.
  size_t LackedByBackup() const;

  // Over an undo log: this thread has made its flushes durable, in all regions.
  // Releases locks that waited for that, and saves a drain.
  void OnDrained();

  // See CommitOptions::hold_locks. A sequence that is not held is ignored.
  void ReleaseHold(uint64_t sequence);

  // Section 5.2: locks the objects of a transaction that this heap already
  // holds (executed as a replica), until ReleaseHold(sequence). Space that it
  // freed is not reused until then. In ascending order of sequence, before any
  // Begin.
  void HoldLocks(uint64_t sequence, const WriteSet& write_set);

  // Called, with no lock of the store held, on the thread that released or
  // aborted, with the objects whose exclusive lock was released. Null to unset.
  // Set while no transaction runs.
  void SetUnlockListener(
      std::function<void(absl::Span<const ObjectId>)> listener) {
    listener_ = std::move(listener);
  }

  // Largest CommitOptions::sequence of all transactions that had committed by
  // the time of Open since a store was last destroyed on the heap, over any
  // number of crashes; 0 when there was none.
  uint64_t last_sequence() const { return last_sequence_; }

  Heap* heap() const { return heap_; }
  KaminoStats stats() const;

 private:
  friend class KaminoTransaction;
  using State = std::unique_ptr<TransactionState>;

  // Threads are spread over lanes, so that they seldom contend.
  struct alignas(64) Lane {
    // The last transaction committed on this lane, if its changes are not
    // durably in the backup yet; else null. A thread that begins to commit puts
    // Taken() in its place, so that its drain also covers those changes, and
    // puts its own transaction there when that is committed. In between no
    // other thread may store here. So that thread can use plain stores: a
    // locked instruction would wait for the flushes that are under way.
    std::atomic<TransactionState*> last{nullptr};
    // Only the thread that has put Taken() there stores to both.
    std::atomic<uint64_t> committed_last{0};  // transactions that were `last`
    std::atomic<uint64_t> sequence_last{0};   // the largest of theirs

    // Committed while another thread of the lane had put Taken() there, or
    // without copy_at_commit.
    mutable SpinLock mutex;
    std::vector<State> pending ABSL_GUARDED_BY(mutex);
    // A hint whether there are any.
    std::atomic<bool> any{false};
    std::atomic<uint64_t> sequence{0};  // largest of those; changes with mutex
    uint64_t committed ABSL_GUARDED_BY(mutex) = 0;
    uint64_t aborted ABSL_GUARDED_BY(mutex) = 0;
  };
  static constexpr size_t kLanes = 64;
  static TransactionState* Taken();

  // A thread's state between its last commit and the next.
  struct Turn {
    State before;        // changes that the next drain can also propagate
    bool taken = false;  // this thread has taken the lane's last
  };

  KaminoStore(Heap* heap, std::unique_ptr<Backup> backup,
              const KaminoOptions& options);

  Lane& MyLane() const;
  // The lane of the thread that made the owner.
  Lane& LaneOf(LockTable::Owner owner) const;
  static LockTable::Owner NewOwner();

  // --- For transactions.

  // An object is about to be locked and read, or `length` bytes of it written.
  // Any id is allowed.
  void PrefetchToRead(ObjectId id) const {
    locks_.Prefetch(id);
    heap_->Prefetch(id, 0);
  }
  void PrefetchToWrite(ObjectId id, size_t length) const {
    locks_.Prefetch(id);
    heap_->Prefetch(id, length);
    sticky_.Prefetch(id);
  }
  // Calls `take`, which tries to lock the object, with how long it may wait.
  // Meanwhile releases locks that only wait for a drain.
  bool LockOrPropagate(ObjectId id, absl::Duration wait,
                       absl::FunctionRef<bool(absl::Duration)> take);
  void BeforeChange(ObjectId id, IntentKind kind) {
    if (snapshots_ != nullptr) snapshots_->BeforeChange({id, 0, 0, kind});
  }
  // Room in the log; waits for other threads' commits if it must.
  CommitLog::Claim ClaimRecord(size_t entries);
  Turn TakeTurn();
  // The record is durable; so are the copies of turn.before.
  void Committed(State state, Turn turn);
  // The largest of all that have committed.
  uint64_t Sequence() const;
  void CommittedNothing(State state);
  // Everything is rolled back, durably.
  void Aborted(State state);

  // --- The undo log; not null.

  // Saves the bytes of the transaction's ranges, as far as they are not saved,
  // and of `more`. kResourceExhausted: there is no room.
  absl::Status SaveRanges(TransactionState* state,
                          absl::Span<const Intent> more);
  // Stores the saved bytes back, durably.
  void RestoreSaved(const TransactionState& state);

  // --- The backup.

  // Stores the states of blocks, visible to all.
  void MarkBlocks(const TransactionState& state);
  // Stores and flushes everything that must be durable before the locks are
  // released, in two steps: first the part that takes locks, then plain stores.
  // False: there was nothing.
  bool PrepareBackup(TransactionState* state);
  void CopyToBackup(const TransactionState& state);
  // Adds up to `max` committed transactions, whose locks are held.
  void TakePending(Lane& lane, size_t max, std::vector<State>* batch);
  // Copies, drains, and releases the locks. Returns how many there were.
  size_t PropagateBatch(std::vector<State> batch);
  // Makes this thread's flushes in either or both durable.
  void Drain(bool backup, bool heap);
  // False: there was nothing.
  bool PropagateAll() { return PropagateSome(SIZE_MAX) > 0; }
  size_t PropagateSome(size_t max);
  static size_t PendingIn(const Lane& lane)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lane.mutex);
  size_t CountPending() const;
  // The backup durably holds its changes.
  void Propagated(State state);
  // Releases the locks and gives freed space back.
  void Unlock(State state);

  Heap* const heap_;
  OpenSnapshots* const snapshots_;
  const std::unique_ptr<Backup> backup_;
  UndoLog* const undo_log_;          // the backup's; may be null
  uint64_t undo_committed_ = 0;      // the largest of all that have committed
  LockTable::Owner undo_owner_ = 0;  // the owner with saved bytes; 0: none
  const bool copy_at_commit_;
  const bool one_drain_;  // serves for heap and backup
  CommitLog log_;
  LockTable locks_;
  StickyIntents sticky_;
  uint64_t last_sequence_ = 0;
  std::function<void(absl::Span<const ObjectId>)> listener_;
  const std::unique_ptr<Lane[]> lanes_;

  mutable absl::Mutex mutex_;
  // By sequence: committed with hold_locks and not released. The state is set
  // once the backup has the changes.
  struct Held {
    State state;
    bool released = false;
  };
  std::map<uint64_t, Held> held_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_KAMINO_STORE_H_
