// REWIND's log: physical records of all transactions, in one order
// (lab/docs/rewind_log.md).
//
// Invariants:
//   1. A record that the index shows is whole. Its id is larger than that of
//      every one appended before.
//   2. A transaction that appends an update has space for the compensation and
//      for its end as well: a rollback never fails for want of space.
//   3. The end of a transaction is removed after its other records, in a step
//      of its own.
//   4. Without force: a transaction whose end has an id below the floor has all
//      it stored durably in place. The end is below only then, and the other
//      records go only then.
#ifndef KAMINO_LAB_REWIND_REWIND_LOG_H_
#define KAMINO_LAB_REWIND_REWIND_LOG_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/explore.h"
#include "engine/heap/heap.h"
#include "engine/transaction.h"
#include "lab/rewind/checked_words.h"
#include "lab/rewind/log_space.h"
#include "lab/rewind/record_index.h"
#include "lab/rewind/rewind_format.h"
#include "lab/rewind/rewind_options.h"
#include "lab/rewind/sequence_mark.h"
#include "lab/rewind/turn_mutex.h"

namespace kamino::engine {

// A change that is to be logged.
struct Draft {
  rewind_format::RecordType type = rewind_format::RecordType::kUpdate;
  uint64_t address = 0;  // in the region
  uint32_t length = 0;   // bytes
  // Null: not logged. Without old bytes it is not rolled back, without new ones
  // not done again.
  const std::byte* old_bytes = nullptr;
  const std::byte* new_bytes = nullptr;
};

// A record in the log, as its transaction remembers it.
struct LogRecord {
  Indexed indexed;
  rewind_format::RecordType type = rewind_format::RecordType::kUpdate;
  uint64_t address = 0;
  uint32_t length = 0;
  const std::byte* old_bytes = nullptr;  // in the log; null: none
  size_t units = 0;
  ObjectId block = kNullObject;  // of the heap, that it lies in; else none
};

// A transaction's records in the log.
struct OwnRecords {
  uint64_t transaction = 0;  // 0: nothing yet
  std::vector<LogRecord> records;
  // Units kept for what ends it, one each, with places in the index.
  std::vector<uint64_t> kept;
  std::optional<LogRecord> end;
  uint64_t sequence = 0;  // the end's
  // Blocks that are free once the records are gone.
  std::vector<ObjectId> freed;
};

// A record as recovery finds it.
struct FoundRecord {
  const rewind_format::RecordHeader* header = nullptr;
  uint64_t offset = 0;
  const std::byte* old_bytes = nullptr;  // null: none
  const std::byte* new_bytes = nullptr;  // null: none
  rewind_format::Compensation compensation = {};
  uint64_t sequence = 0;  // of an end
};

// Thread-safe, as far as each OwnRecords is one thread's.
class RewindLog {
 public:
  // Least bytes of a log area.
  static size_t MinBytes(const RewindOptions& options);

  // The heap must outlive this. Its log area is at least MinBytes() long, and
  // its log of that format.
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
  // Makes what finished transactions have stored durable, and removes their
  // records; what became free is the heap's. Whether there were any.
  bool Checkpoint();

  // Whether one is due.
  bool WantsCheckpoint() const;

  // Blocks of the heap that records lie in, or that wait for a checkpoint.
  size_t blocks() const;

 private:
  using RecordHeader = rewind_format::RecordHeader;
  using RecordType = rewind_format::RecordType;

  std::byte* At(uint64_t offset) const { return region_->base() + offset; }
  uint64_t CheckOf(const RecordHeader& header, uint64_t offset,
                   const std::byte* data, size_t data_bytes) const;

  absl::Status Full() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool KeepUnit(OwnRecords* own) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveKept(OwnRecords* own) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status BeginLocked(OwnRecords* own)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Space for a record of so many bytes; nothing: none.
  std::optional<LogRecord> Place(size_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBack(const LogRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Fills in and flushes.
  void Write(LogRecord* record, uint64_t transaction, const Draft& draft,
             uint8_t flags) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes a record of one unit: an end, a compensation, a checkpoint.
  LogRecord WriteSmall(uint64_t unit, uint64_t transaction, RecordType type,
                       uint8_t flags, absl::Span<const std::byte> data)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Room for all of `drafts`, and what goes with them.
  absl::StatusOr<std::vector<LogRecord>> Make(OwnRecords* own,
                                              absl::Span<const Draft> drafts)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  LogRecord MakeEnd(OwnRecords* own, uint64_t sequence, bool aborted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Index(absl::Span<LogRecord> records, bool in_order)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<LogRecord> MakeCheckpoint()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Their records go, before the ends do; with `beside`, if any.
  void FindLocked(const OwnRecords& own) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<ObjectId> ClearAll(absl::Span<OwnRecords> all,
                                 const std::optional<LogRecord>& beside)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FlushStored(absl::Span<const OwnRecords> all) const;
  absl::StatusOr<FoundRecord> Parse(uint64_t offset) const;

  Heap* const heap_;
  Region* const region_;
  const RewindOptions options_;
  const uint64_t seed_;
  const CheckedWords words_;
  rewind_format::Marks* const marks_;
  const SequenceMark last_sequence_;

  // Held by the thread that makes a checkpoint, all the time; taken first.
  Mutex checkpoint_mutex_;

  mutable TurnMutex mutex_;
  LogSpace space_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<RecordIndex> index_ ABSL_PT_GUARDED_BY(mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t next_transaction_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t sequence_ ABSL_GUARDED_BY(mutex_) = 0;  // the largest given
  // Transactions with records, until Finished or Clear.
  size_t live_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t blocks_ ABSL_GUARDED_BY(mutex_) = 0;
  // Without force: ids of ends whose transactions may still be storing, and of
  // those that have stored all.
  std::set<uint64_t> storing_ ABSL_GUARDED_BY(mutex_);
  std::vector<OwnRecords> finished_ ABSL_GUARDED_BY(mutex_);
  size_t leaving_ ABSL_GUARDED_BY(mutex_) = 0;  // by a checkpoint under way
  size_t records_since_checkpoint_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_REWIND_LOG_H_
