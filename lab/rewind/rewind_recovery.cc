// The paper's phases (section 4.5), with its Algorithm 2 put right.
//
//   - Analysis: which transactions have an end.
//   - Redo, without force: forward, all updates that may not be durable in
//     place, compensations too. Those below the floor are durable. But redo
//     does not skip single records: an unfinished transaction's earlier record
//     may be of a store that was made after the lines were flushed. It skips
//     whole transactions whose end is below the floor.
//   - Undo: backward, the changes of transactions without an end. An update
//     that a compensation names is rolled back already, and all after it:
//     compensations come newest first. With force the last compensation's store
//     alone may be missing, and is made again. Making the others' again,
//     backward, would restore intermediate values.
//
// Nothing is appended: redo and undo have the same result however often they
// begin anew, and the store of one word removes the whole log. So recovery does
// not need the paper's ROLLBACK records and the ends of losers.
#include "lab/rewind/rewind_recovery.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "lab/explore.h"
#include "lab/rewind/rewind_format.h"

namespace kamino::engine {
namespace {

using rewind_format::kAborted;
using rewind_format::RecordType;

RecordType TypeOf(const FoundRecord& record) {
  return static_cast<RecordType>(record.header->type);
}

class Recovery {
 public:
  Recovery(Heap* heap, RewindLog* log, bool force)
      : region_(heap->region()), log_(log), force_(force) {}

  absl::StatusOr<RecoveryReport> Run();

 private:
  struct Transaction {
    std::optional<uint64_t> end;     // its id
    std::optional<uint64_t> undone;  // the oldest update that was taken back
  };

  absl::Status Analyze();
  void Redo();
  void Undo();
  void Store(const FoundRecord& record, const std::byte* bytes);
  // The bytes that a compensation stores.
  const std::byte* UndoneBytes(const FoundRecord& record) const;
  // Whether all of the transaction is durably in its place.
  bool BelowFloor(const Transaction& transaction) const {
    return !force_ && transaction.end.has_value() &&
           *transaction.end < marks_.floor;
  }

  Region* const region_;
  RewindLog* const log_;
  const bool force_;
  rewind_format::Marks marks_{};
  std::vector<FoundRecord> records_;
  absl::flat_hash_map<uint64_t, Transaction> transactions_;
  absl::flat_hash_map<uint64_t, const FoundRecord*> by_offset_;
  RecoveryReport report_;
};

absl::Status Recovery::Analyze() {
  report_.last_sequence = marks_.last_sequence;
  for (const FoundRecord& record : records_) {
    by_offset_[record.offset] = &record;
    if (TypeOf(record) == RecordType::kCheckpoint) continue;
    Transaction& transaction = transactions_[record.header->transaction];
    if (TypeOf(record) != RecordType::kEnd) continue;
    transaction.end = record.header->id;
    if ((record.header->flags & kAborted) != 0) continue;
    report_.last_sequence = std::max(report_.last_sequence, record.sequence);
    if (!force_ && !BelowFloor(transaction)) ++report_.replayed;
  }
  for (const auto& [number, transaction] : transactions_) {
    if (!transaction.end.has_value()) ++report_.rolled_back;
  }
  // Checks the compensations before anything is stored.
  for (const FoundRecord& record : records_) {
    if (TypeOf(record) != RecordType::kCompensation) continue;
    const Transaction& transaction = transactions_[record.header->transaction];
    if (BelowFloor(transaction) || (force_ && transaction.end.has_value())) {
      continue;
    }
    const auto undone = by_offset_.find(record.compensation.undo_record);
    if (undone == by_offset_.end() || undone->second->old_bytes == nullptr ||
        undone->second->header->id != record.compensation.undo_id) {
      return absl::DataLossError(
          absl::StrCat("the log is damaged: its record at offset ",
                       record.offset, " takes back one that is not there"));
    }
  }
  return absl::OkStatus();
}

void Recovery::Store(const FoundRecord& record, const std::byte* bytes) {
  region_->CopyFlush(region_->base() + record.header->address, bytes,
                     record.header->length);
}

const std::byte* Recovery::UndoneBytes(const FoundRecord& record) const {
  return by_offset_.at(record.compensation.undo_record)->old_bytes;
}

void Recovery::Redo() {
  for (const FoundRecord& record : records_) {
    if (TypeOf(record) == RecordType::kCheckpoint) continue;
    if (BelowFloor(transactions_[record.header->transaction])) {
      Reached(LabBranch::kRewindBelowFloor);
      continue;
    }
    if (TypeOf(record) == RecordType::kCompensation) {
      const FoundRecord& undone =
          *by_offset_.at(record.compensation.undo_record);
      Store(undone, UndoneBytes(record));
    } else if (record.new_bytes != nullptr) {
      Reached(LabBranch::kRewindRedone);
      Store(record, record.new_bytes);
    }
  }
}

void Recovery::Undo() {
  for (auto record = records_.rbegin(); record != records_.rend(); ++record) {
    if (TypeOf(*record) == RecordType::kCheckpoint) continue;
    Transaction& transaction = transactions_[record->header->transaction];
    if (transaction.end.has_value()) continue;
    if (TypeOf(*record) == RecordType::kCompensation) {
      if (transaction.undone.has_value()) continue;  // the last one is first
      transaction.undone = record->compensation.undo_id;
      const FoundRecord& undone =
          *by_offset_.at(record->compensation.undo_record);
      if (!force_) continue;
      Reached(LabBranch::kRewindStoredOnceMore);
      Store(undone, UndoneBytes(*record));
    } else if (record->old_bytes != nullptr) {
      const bool done = transaction.undone.has_value() &&
                        *transaction.undone <= record->header->id;
      Reached(done ? LabBranch::kRewindUndoneBefore : LabBranch::kRewindUndone);
      if (!done) Store(*record, record->old_bytes);
    }
  }
}

absl::StatusOr<RecoveryReport> Recovery::Run() {
  ASSIGN_OR_RETURN(marks_, log_->ReadMarks());
  RETURN_IF_ERROR(log_->Finish());
  ASSIGN_OR_RETURN(records_, log_->Scan());
  RETURN_IF_ERROR(Analyze());
  if (!force_) Redo();
  Undo();
  region_->Drain();
  log_->Reset(report_.last_sequence);
  return std::move(report_);
}

}  // namespace

absl::StatusOr<RecoveryReport> RecoverRewind(Heap* heap, RewindLog* log,
                                             bool force) {
  return Recovery(heap, log, force).Run();
}

}  // namespace kamino::engine
