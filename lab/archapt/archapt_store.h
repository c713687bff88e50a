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

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "engine/baselines/baseline_transaction.h"
#include "engine/explore.h"
#include "engine/heap/heap.h"
#include "engine/transactional_store.h"
#include "lab/archapt/access_queue.h"
#include "lab/archapt/archapt_options.h"
#include "lab/archapt/archapt_recovery.h"
#include "lab/archapt/lost_objects.h"
#include "lab/archapt/matrix_table.h"
#include "lab/archapt/pending_table.h"
#include "lab/archapt/undo_ring.h"

namespace kamino::engine {

// A matrix of which the sums are being made, or that is sealed.
struct LiveMatrix {
  uint64_t number = 0;
  size_t slot = 0;
  ObjectId block = kNullObject;  // of the sums
  size_t place = 0;              // among all
  std::vector<ObjectEntry*> columns;
  bool dissolving = false;  // one thread is about to; see StartDissolving
};

// Flushes that other transactions wait for: a transaction made them for objects
// that it is to store to, and has not drained them.
struct Unsettled {
  struct Owed {
    ObjectId id = kNullObject;
    uint32_t bytes = 0;  // of the payload
    LineRanges lines;
  };

  absl::InlinedVector<PendingCommit*, 4> taken;
  // Not flushed: once their bytes are durably logged as old ones they need not
  // be. If they never are, these must be.
  absl::InlinedVector<Owed, 1> owed;
};

// A transaction that is to be committed logically.
struct LogicalCommit {
  uint64_t transaction = 0;  // of the undo ring
  struct Object {
    Access object;
    LineRanges lines;  // stored to and not flushed
  };
  absl::InlinedVector<Object, 2> objects;
  ObjectIds headers;  // stored and not flushed
  ObjectIds freed;
};

struct ArchaptStats {
  uint64_t flushed_lines = 0;   // of objects, but for who needed it durable
  uint64_t replaced_lines = 0;  // not flushed, as the next to store logged them
  uint64_t skipped_lines = 0;
  uint64_t matrices = 0;   // sealed
  uint64_t dissolved = 0;  // of those
  uint64_t sums_lines = 0;
};

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
  ObjectId root() const override { return heap_->root(); }
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
  uint64_t durable_sequence() const override { return durable_.load(); }
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

  // Objects that have been accessed move in the queue; those that fall out are
  // put into matrices; what can be is committed physically.
  void Advance();
  // Whether there is something to do.
  bool WantsAdvance() const;

  // For a StoreWorker: advances where there is something to do.
  static constexpr char kWorkerName[] = "archapt-mover";
  bool WorkBeside();

  ArchaptStats stats() const;
  // Blocks that are taken and are no objects: sums, and blocks that are freed
  // but not durably.
  size_t kept_blocks() const;
  Heap* heap() const { return heap_; }

 private:
  friend class ArchaptTransaction;

  // Flushes and matrices of one Advance.
  struct Flush {
    ObjectId id = kNullObject;
    uint32_t bytes = 0;
    LineRanges lines;
    PendingCommit* commit = nullptr;
  };
  struct Work {
    std::vector<Flush> flushes;
    std::vector<PendingCommit*> commits;  // new ones
    std::vector<LiveMatrix*> sealing;
  };

  ArchaptStore(const ArchaptOptions& options, Heap* heap,
               const ArchaptLayout& layout);

  // --- Of transactions.

  // Before the object is stored to, or freed; its exclusive lock is held. The
  // old bytes of whole lines `logged` will be.
  void BeforeWrite(ObjectId id, const LineRange& logged, Unsettled* unsettled);
  // Called after a Drain of that thread. Nothing may be owed.
  static void Settle(Unsettled* unsettled);
  bool IsLost(ObjectId id) const { return lost_.Has(id); }
  // Returns the sequence.
  uint64_t CommitLogically(LogicalCommit commit);
  uint64_t last_sequence() const { return last_sequence_.load(); }
  // Notes a read. Not needed while nothing is pending: later accesses push an
  // object out of the queue.
  void Note(const Access& access) {
    if (durable_sequence() < last_sequence()) notes_.Add(access);
  }
  // Advances, if no other thread does and there is too much to do.
  void AdvanceIfLate();
  // Makes room when the log has none. Each call does more; `attempt` is the
  // number of calls before. False: nothing is left to try.
  bool MakeRoom(int attempt);
  // The same for the heap.
  void FreeBlocks();
  // Waits for flushes that other threads have made and not drained, and for
  // matrices that they dissolve, ArchaptOptions::log_wait at most. Their room
  // is free then.
  void AwaitOthers();
  // Whether there are such, in what is committed up to that sequence.
  bool RoomIsComing(uint64_t sequence) const;

  void FlushLines(ObjectId id, uint32_t bytes, const LineRanges& lines);
  void StartDissolving(LiveMatrix* matrix)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One that StartDissolving has been called of.
  void Dissolve(LiveMatrix* matrix);
  void DissolveAll();

  // Waits until `done()`, which is called with waiting_mutex_ held, but no
  // longer than `length`. Returns what it says.
  bool AwaitMove(absl::Duration length, absl::FunctionRef<bool()> done);
  // Wakes the threads in AwaitMove.
  void SayMoved();

  // --- Advancing.

  // All up to this sequence are flushed if they have to be.
  void Force(uint64_t sequence);
  void AdvanceTo(uint64_t force_to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  void Collect(uint64_t force_to, Work* work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  // All that was committed and read since the last time.
  void TakeAccesses(Work* work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  void TakeCommits(Work* work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  void TakeForced(uint64_t force_to, Work* work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  // It has fallen out of the queue.
  void Leave(ObjectId id, Work* work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_, mutex_);
  // It has been read.
  void FlushIfPending(ObjectId id, Work* work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeFlush(ObjectEntry* entry, Work* work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Gains(const ObjectEntry& entry) const;
  void StartSealings(Work* work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  // Flushes objects that have waited for too long.
  void FlushOverdue(Work* work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  bool StartSealing(const std::vector<ObjectEntry*>& columns, Work* work)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Carry(const Work& work);
  void Finish(const Work& work) ABSL_LOCKS_EXCLUDED(mutex_);
  void CommitPhysically() ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  std::vector<std::unique_ptr<PendingCommit>> TakeReady()
      ABSL_LOCKS_EXCLUDED(mutex_);
  void ClearLost(absl::Span<const ObjectId> freed);

  const ArchaptOptions options_;
  Heap* const heap_;
  Region* const region_;
  UndoRing ring_;
  MatrixTable table_;
  LostObjects lost_;
  ObjectLocks locks_;
  RecoveryReport report_;
  uint64_t given_before_ = 0;  // numbers up to this one

  AccessNotes notes_;

  // Held by the thread that advances; taken first.
  Mutex work_mutex_;
  AccessQueue queue_ ABSL_GUARDED_BY(work_mutex_);
  // The last Advance's work; its space is used again.
  Work work_ ABSL_GUARDED_BY(work_mutex_);
  std::vector<Access> accesses_ ABSL_GUARDED_BY(work_mutex_);
  std::vector<ObjectId> ids_ ABSL_GUARDED_BY(work_mutex_);
  uint64_t advances_ ABSL_GUARDED_BY(work_mutex_) = 0;

  // Held for a few objects at a time: transactions wait for it.
  mutable Mutex mutex_;
  PendingTable pending_;  // guarded by it, but for MayHave
  // By sequence, without gaps.
  std::deque<std::unique_ptr<PendingCommit>> commits_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<PendingCommit>> spare_commits_
      ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<LiveMatrix>> matrices_ ABSL_GUARDED_BY(mutex_);
  std::vector<size_t> free_slots_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_matrix_ ABSL_GUARDED_BY(mutex_) = 1;
  size_t dissolving_ ABSL_GUARDED_BY(mutex_) = 0;      // matrices
  size_t waiting_blocks_ ABSL_GUARDED_BY(mutex_) = 0;  // freed
  ArchaptStats stats_ ABSL_GUARDED_BY(mutex_);

  std::atomic<uint64_t> last_sequence_{0};  // committed logically
  std::atomic<uint64_t> durable_{0};

  // Sequence of the newest commit whose objects are in the queue; changes with
  // work_mutex_ held.
  std::atomic<uint64_t> queued_{0};
  std::atomic<bool> advancing_{false};

  // For waits on durable_ and dissolving_. Taken before mutex_.
  Mutex waiting_mutex_;
  CondVar moved_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_ARCHAPT_STORE_H_
