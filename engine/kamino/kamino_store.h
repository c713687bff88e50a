// Kamino-Tx on one heap (sections 3 and 4): transactions that write in place,
// made abortable by a backup that is brought up to date off the critical path.
//
// Invariants:
//   1. An intent, and before it a copy of the object, is durable before its
//      range is stored to; every store is durable before the commit mark, and
//      the mark before Commit returns.
//   2. An object is locked exclusively from its first intent until the backup
//      holds the transaction's changes and, with hold_locks, ReleaseHold came.
//      So the backup's copy of a locked object is its state before the
//      transaction, and an abort can take it from there.
//   3. A log slot is reused, and freed space given back, only when the locks
//      fall; by then the slot says free durably. So a recovery never mixes the
//      ranges of two transactions.
//
// Thread-safe, but a Transaction is one thread's. The store must outlive its
// transactions.
#ifndef KAMINO_ENGINE_KAMINO_KAMINO_STORE_H_
#define KAMINO_ENGINE_KAMINO_KAMINO_STORE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "engine/kamino/backup.h"
#include "engine/kamino/intent_log.h"
#include "engine/kamino/lock_table.h"
#include "engine/transaction.h"
#include "engine/transactional_store.h"

namespace kamino::engine {

class KaminoTransaction;

struct KaminoStats {
  uint64_t committed = 0;
  uint64_t aborted = 0;
  uint64_t backup_pending = 0;  // committed, not yet in the backup
  uint64_t held = 0;            // waiting for ReleaseHold
  uint64_t locked_objects = 0;  // exclusively
  BackupStats backup;
};

class KaminoStore final : public TransactionalStore {
 public:
  // Recovers what a crash left: rolls back transactions without a commit mark,
  // rolls the backup forward for those with one, then loads the heap. Doing so
  // again after a crash on the way leads to the same. No transaction may be
  // running on the heap, which must outlive the store. kDataLoss: log, backup
  // or heap are damaged.
  static absl::StatusOr<std::unique_ptr<KaminoStore>> Open(
      Heap* heap, std::unique_ptr<Backup> backup);

  // No transaction may be live. What is committed and not in the backup yet is
  // left to recovery.
  ~KaminoStore() override;

  absl::string_view scheme() const override { return backup_->scheme(); }
  std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) override;
  ObjectId root() const override { return heap_->root(); }
  // Copies in the calling thread. Not for transactions with hold_locks.
  void Quiesce() override;
  uint64_t bytes_used() const override;

  // Moves up to `max` committed transactions into the backup, oldest first,
  // and releases what that unlocks. Returns how many are left. One caller at
  // a time.
  size_t ApplyBackup(size_t max);

  // Waits until a transaction is there for ApplyBackup, or until `deadline`.
  bool AwaitCommitted(absl::Time deadline);

  // See CommitOptions::hold_locks. A sequence that is not held is ignored.
  void ReleaseHold(uint64_t sequence);

  // Section 5.2: locks the objects of a transaction that this heap holds
  // already (executed as a replica), until ReleaseHold(sequence). Space freed
  // by it is not reused until then. In ascending order of sequence, before any
  // Begin.
  void HoldLocks(uint64_t sequence, const WriteSet& write_set);

  // Called, with no lock of the store held, on whichever thread released or
  // aborted, with the objects that became free of an exclusive lock. Null to
  // unset. Set while no transaction runs.
  void SetUnlockListener(
      std::function<void(absl::Span<const ObjectId>)> listener) {
    listener_ = std::move(listener);
  }

  // Largest CommitOptions::sequence with a commit mark found at Open; 0 when
  // there was none.
  uint64_t last_sequence() const { return last_sequence_; }

  Heap* heap() const { return heap_; }
  KaminoStats stats() const;

 private:
  friend class KaminoTransaction;

  // A committed transaction until its locks fall.
  struct Finished {
    LockTable::Owner owner = 0;
    uint64_t sequence = 0;
    absl::optional<IntentLog::Slot> slot;  // none: executed as a replica
    WriteSet intents;
    std::vector<ObjectId> locked;  // exclusively
    std::vector<ObjectId> pinned;  // in the backup
    std::vector<ObjectId> freed;   // space to give back
    bool synced = false;           // the backup holds it
    bool held = false;             // by hold_locks
  };
  using FinishedList = std::vector<std::unique_ptr<Finished>>;

  KaminoStore(Heap* heap, std::unique_ptr<Backup> backup);

  absl::Status Recover();
  // Those with a commit mark, or those without.
  absl::Status RecoverSlots(
      const std::vector<IntentLog::Unfinished>& unfinished, bool committed);
  // kDataLoss: the heap has no such bytes.
  absl::Status CheckRange(const Intent& intent) const;
  absl::Status RollBack(const WriteSet& intents);
  absl::Status RollForward(const WriteSet& intents);
  void CopyToBackup(const WriteSet& intents);

  // The transaction's commit mark is durable.
  void Enqueue(std::unique_ptr<Finished> finished);
  // Synced and not held any more: drops the locks.
  void Finish(FinishedList list);
  // Gives `space`, blocks that are free on media, to the allocator as well, and
  // tells the listener.
  void Unlock(LockTable::Owner owner, absl::Span<const ObjectId> objects,
              absl::Span<const ObjectId> space);
  bool HasPending() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !pending_.empty();
  }

  Heap* const heap_;
  const std::unique_ptr<Backup> backup_;
  IntentLog log_;
  LockTable locks_;
  uint64_t last_sequence_ = 0;
  std::function<void(absl::Span<const ObjectId>)> listener_;

  mutable absl::Mutex mutex_;
  LockTable::Owner next_owner_ ABSL_GUARDED_BY(mutex_) = 1;
  // Not in the backup yet, in commit order.
  std::deque<std::unique_ptr<Finished>> pending_ ABSL_GUARDED_BY(mutex_);
  // On their way into the backup; owned by ApplyBackup.
  std::vector<Finished*> syncing_ ABSL_GUARDED_BY(mutex_);
  // In the backup, held by sequence.
  std::map<uint64_t, std::unique_ptr<Finished>> held_ ABSL_GUARDED_BY(mutex_);
  uint64_t committed_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t aborted_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_KAMINO_STORE_H_
