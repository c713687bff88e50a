// Archapt (Wu, Ren and Li, 2019) on Kamino's heap: undo logging without the
// flushes of data that the cache is believed to have made by itself.
//
// A commit is logical first: it has a place in the order, its locks are
// released, and its objects are not flushed. An object that falls out of a
// queue as long as the cache is taken to be on the medium, but not trusted
// blindly: such objects become columns of a matrix whose sums are durable. Once
// each of a transaction's objects is flushed or in a sealed matrix, and the
// transactions before are as far, it is committed physically, and its undo
// records go.
//
// Invariants:
//   1. A range's old bytes are durably logged before it is stored to. By then
//      an earlier transaction's stores to the object are flushed, or among
//      those old bytes, and the object is in no matrix that counts.
//   2. Physical commits follow the logical order: recovery rolls back the last
//      transactions.
//   3. Objects of a matrix that counts are as they were when it was sealed, in
//      the memory's view; on the medium any of their lines may be older.
//   4. A block that is freed is used again only once that is committed
//      physically.
//
// Advance does the work beside transactions; any thread may call it, and an
// ArchaptMover does. Without a mover, transactions do it when there is much of
// it. Reading takes no lock of the store's.
//
// before_mark is called when all that the transaction has written is durable.
#ifndef KAMINO_LAB_ARCHAPT_ARCHAPT_STORE_H_
#define KAMINO_LAB_ARCHAPT_ARCHAPT_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/baselines/baseline_transaction.h"
#include "engine/heap/heap.h"
#include "engine/transactional_store.h"
#include "lab/archapt/advancer.h"
#include "lab/archapt/archapt_media.h"
#include "lab/archapt/archapt_options.h"
#include "lab/archapt/archapt_recovery.h"
#include "lab/archapt/backlog.h"
#include "lab/archapt/durable_progress.h"
#include "lab/archapt/matrix_keeper.h"
#include "lab/archapt/room_maker.h"

namespace kamino::engine {

// Thread-safe, but a Transaction is one thread's.
class ArchaptStore final : public TransactionalStore {
 public:
  // Repairs and rolls back what a crash left, then loads the heap, which must
  // outlive the store. kInvalidArgument: options out of bounds, or the heap's
  // log area is too small or too large. kFailedPrecondition: the heap's label
  // is not ArchaptLabel(options); kDataLoss: log or heap are damaged.
  static absl::StatusOr<std::unique_ptr<ArchaptStore>> Open(
      const ArchaptOptions& options, Heap* heap);

  // Leaves everything flushed. No transaction may be live.
  ~ArchaptStore() override;

  absl::string_view scheme() const override { return kArchaptName; }
  std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) override;
  ObjectId root() const override { return media_->heap->root(); }
  // Commits everything physically, and leaves no matrix.
  void Quiesce() override;
  // last_sequence: numbers that the store gives, from 1 in a new heap;
  // CommitOptions::sequence is recorded nowhere. No number is given twice, by
  // any opening: after one that has taken commits back, or what was under way,
  // the next number is larger than last_sequence by more than 1.
  RecoveryReport recovery_report() const override { return report_; }
  // Covers this opening's commits, and earlier ones up to last_sequence of the
  // report: larger numbers of earlier openings were rolled back, although this
  // value goes past them.
  uint64_t durable_sequence() const override { return progress_.durable(); }
  // Numbers up to this one were given before this opening.
  uint64_t given_before() const { return given_before_; }
  // Leaves the flushes to other threads for ArchaptOptions::patience, then
  // flushes what is missing, and what has committed meanwhile: a caller that
  // waits for one transaction after the other waits that long once for many.
  // With no time to wait it reports the state, and flushes nothing; else it may
  // take longer than `wait` by as much as flushing takes. False for commits
  // that this opening has rolled back; it does not know those of openings
  // before.
  bool AwaitDurable(uint64_t sequence, absl::Duration wait) override;
  uint64_t bytes_used() const override;

  // Does what there is to do beside transactions (advancer.h).
  void Advance() { advancer_.Advance(); }

  // For a StoreWorker: advances where there is something to do.
  static constexpr char kWorkerName[] = "archapt-mover";
  bool WorkBeside();

  ArchaptStats stats() const;
  // Blocks that are taken and are no objects: sums, and blocks that are freed
  // but not durably.
  size_t kept_blocks() const;
  Heap* heap() const { return media_->heap; }

 private:
  // `recovery`: as RecoverArchapt returned it. The heap is loaded.
  ArchaptStore(const ArchaptOptions& options,
               std::unique_ptr<ArchaptMedia> media, ArchaptRecovery recovery);

  const ArchaptOptions options_;
  const std::unique_ptr<ArchaptMedia> media_;
  const RecoveryReport report_;
  const uint64_t given_before_;

  ObjectLocks locks_;
  Backlog backlog_;
  DurableProgress progress_;
  MatrixKeeper matrices_;
  Advancer advancer_;
  RoomMaker room_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_ARCHAPT_STORE_H_
