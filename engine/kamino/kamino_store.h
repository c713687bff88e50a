// Kamino-Tx on one heap (sections 3 and 4): transactions that write in place,
// made abortable by a backup that is brought up to date off the critical path.
//
// Invariants:
//   1. An intent is durable before its range is stored to; every store is
//      durable before the commit mark, and the mark before Commit returns.
//   2. An object is locked exclusively from its first intent until the backup
//      holds the transaction's changes and, with hold_locks, ReleaseHold came.
//      So the backup's copy of a locked object is its state before the
//      transaction, and an abort can take it from there.
//   3. Committed transactions move into the backup in commit order.
//   4. A log slot is reused, and freed space given back, only when the locks
//      fall.
//
// Thread-safe, but a Transaction is one thread's. The store must outlive its
// transactions.
#ifndef KAMINO_ENGINE_KAMINO_KAMINO_STORE_H_
#define KAMINO_ENGINE_KAMINO_KAMINO_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "engine/kamino/backup.h"
#include "engine/transaction.h"

namespace kamino::engine {

struct KaminoStats {
  uint64_t committed = 0;
  uint64_t aborted = 0;
  uint64_t backup_pending = 0;  // committed, not yet in the backup
  uint64_t held = 0;            // waiting for ReleaseHold
  uint64_t locked_objects = 0;
  BackupStats backup;
};

class KaminoStore {
 public:
  // Recovers what a crash left: rolls back transactions without a commit mark,
  // rolls the backup forward for those with one, then loads the heap. `heap`
  // must be opened (not loaded) or created; both must outlive the store.
  // kFailedPrecondition: the backup is another heap's, or the log another
  // version's. kDataLoss: log, backup or heap damaged.
  static absl::StatusOr<std::unique_ptr<KaminoStore>> Open(
      Heap* heap, std::unique_ptr<Backup> backup);

  ~KaminoStore();

  // Waits up to `lock_wait` for each lock; zero never waits (section 3:
  // dependent transactions), the transaction then reports conflict().
  std::unique_ptr<Transaction> Begin(absl::Duration lock_wait);

  // Moves up to `max` committed transactions into the backup, oldest first,
  // and releases what that unlocks. Returns how many are left. One caller at
  // a time.
  size_t ApplyBackup(size_t max);

  // See CommitOptions::hold_locks. `sequence` must be held.
  void ReleaseHold(uint64_t sequence);

  // Section 5.2: locks the objects of a transaction that this heap holds
  // already (executed as a replica), until ReleaseHold(sequence). Objects freed
  // by it are not reused until then. Before any Begin.
  void HoldLocks(uint64_t sequence, const WriteSet& write_set);

  // Called, with no lock of the store held, on whichever thread released or
  // aborted, with the objects that became free of an exclusive lock. Null to
  // unset. Set while no transaction runs.
  void SetUnlockListener(
      std::function<void(absl::Span<const ObjectId>)> listener);

  // Largest CommitOptions::sequence with a commit mark found at Open; 0 when
  // the log is clean.
  uint64_t last_sequence() const;

  Heap* heap() const;
  KaminoStats stats() const;

 private:
  class Impl;
  explicit KaminoStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_KAMINO_STORE_H_
