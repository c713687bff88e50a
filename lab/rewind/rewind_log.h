// REWIND's log: physical records of all transactions, in one order
// (lab/docs/rewind_log.md).
//
// Invariants:
//   1. A transaction that appends an update has space for the compensation and
//      for its end as well: a rollback never fails for want of space.
//   2. The end of a transaction is removed after its other records, in a step
//      of its own.
//   3. Without force: a transaction whose end has an id below the floor has all
//      it stored durably in place. The end is below only then, and the other
//      records go only then.
#ifndef KAMINO_LAB_REWIND_REWIND_LOG_H_
#define KAMINO_LAB_REWIND_REWIND_LOG_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/explore.h"
#include "engine/heap/heap.h"
#include "engine/transaction.h"
#include "lab/rewind/checked_words.h"
#include "lab/rewind/log_record.h"
#include "lab/rewind/record_table.h"
#include "lab/rewind/rewind_format.h"
#include "lab/rewind/rewind_options.h"
#include "lab/rewind/sequence_mark.h"
#include "lab/rewind/transaction_table.h"
#include "lab/rewind/turn_mutex.h"

namespace kamino::engine {

// Thread-safe, as far as each OwnRecords is one thread's.
class RewindLog {
 public:
  // The heap must outlive this. Its log area has RecordTable::MinBytes() at
  // least, and its log is of that format.
  RewindLog(Heap* heap, const RewindOptions& options,
            rewind_format::LogFormat format);

  // --- Recovery, before anything else.

  absl::Status Finish();
  // Records in the order of ids. kDataLoss: damaged.
  absl::StatusOr<std::vector<FoundRecord>> Scan() const;
  // The numbers. kDataLoss: damaged.
  absl::StatusOr<rewind_format::Marks> ReadMarks() const;
  // Nothing is left to do: durably forgets all but the sequence.
  void Reset(uint64_t last_sequence);

  // --- Transactions. What is appended is durable on return, and what the
  // thread has flushed before.

  // Large ones become several records. ResourceError: no space; nothing is
  // appended then. kLog: as long as others have some of it, or have ended and
  // wait for a checkpoint; kTransaction: it has all there is itself.
  absl::Status Append(OwnRecords* own, absl::Span<const Draft> drafts);
  // Gives back what is kept for one that has appended nothing.
  void Drop(OwnRecords* own);
  // The end; `drafts` before it, of form batch with the same drains. Without
  // force, Finished follows once everything is stored.
  absl::Status AppendEnd(OwnRecords* own, absl::Span<const Draft> drafts,
                         uint64_t sequence);
  // Says that `undone`, of its records, are about to be rolled back; and that
  // all are.
  void AppendCompensations(OwnRecords* own,
                           absl::Span<const LogRecord* const> undone);
  void AppendAborted(OwnRecords* own);

  // With force: its records go, durably. Returns what became free.
  std::vector<ObjectId> Clear(OwnRecords* own);

  // Where options.scans says so: looks for its records among all.
  void Find(const OwnRecords& own) const;

  // Where they are kept: all it has stored is there for others to flush.
  void Finished(OwnRecords* own);
  // Where they are kept: makes what finished transactions have stored durable,
  // and removes their records; what became free is the heap's. Whether there
  // were any.
  bool Checkpoint();

  // Whether one is due.
  bool WantsCheckpoint() const;

  // Blocks of the heap that records lie in, or that wait for a checkpoint.
  size_t blocks() const;

 private:
  // Keeps space for its end, unless it has that already.
  absl::Status BeginLocked(OwnRecords* own)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes `drafts`, with room for what goes with them.
  absl::StatusOr<std::vector<LogRecord>> Write(OwnRecords* own,
                                               absl::Span<const Draft> drafts)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  LogRecord WriteEnd(OwnRecords* own, uint64_t sequence, bool aborted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FindLocked(const OwnRecords& own) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Their records go, before the ends do; with `beside`, if any.
  std::vector<ObjectId> ClearAll(absl::Span<OwnRecords> all,
                                 const std::optional<LogRecord>& beside)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Heap* const heap_;
  Region* const region_;
  const RewindOptions options_;
  const CheckedWords words_;
  rewind_format::Marks* const marks_;
  const SequenceMark last_sequence_;

  // Held by the thread that makes a checkpoint, all the time; taken first.
  Mutex checkpoint_mutex_;

  mutable TurnMutex mutex_;
  RecordTable records_ ABSL_GUARDED_BY(mutex_);
  TransactionTable transactions_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_transaction_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t sequence_ ABSL_GUARDED_BY(mutex_) = 0;  // the largest given
  // Blocks of the heap that are free once a checkpoint has removed records.
  size_t waiting_blocks_ ABSL_GUARDED_BY(mutex_) = 0;
  // Records from this id on are younger than the last checkpoint.
  uint64_t checkpoint_id_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_REWIND_LOG_H_
