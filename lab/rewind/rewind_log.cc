#include "lab/rewind/rewind_log.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "glog/logging.h"
#include "lab/rewind/log_format.h"

namespace kamino::engine {

using rewind_format::Compensation;
using rewind_format::End;
using rewind_format::kAborted;
using rewind_format::LogFormat;
using rewind_format::RecordType;

RewindLog::RewindLog(Heap* heap, const RewindOptions& options, LogFormat format)
    : heap_(heap),
      region_(heap->region()),
      options_(options),
      words_(WordsOf(*heap, format)),
      marks_(MarksOf(*heap, format)),
      last_sequence_(SequenceMarkOf(*heap, format)),
      records_(heap, options, format) {}

// --- Recovery.

absl::Status RewindLog::Finish() {
  TurnLock lock(&mutex_);
  return records_.Finish();
}

absl::StatusOr<std::vector<FoundRecord>> RewindLog::Scan() const {
  TurnLock lock(&mutex_);
  return records_.Scan();
}

absl::StatusOr<rewind_format::Marks> RewindLog::ReadMarks() const {
  rewind_format::Marks marks{};
  ASSIGN_OR_RETURN(marks.floor, words_.Read(&marks_->floor));
  ASSIGN_OR_RETURN(marks.last_sequence, last_sequence_.Read());
  ASSIGN_OR_RETURN(marks.root, words_.Read(&marks_->root));
  return marks;
}

void RewindLog::Reset(uint64_t last_sequence) {
  TurnLock lock(&mutex_);
  last_sequence_.Store(last_sequence);
  region_->Drain();
  records_.Empty();
  words_.Persist(&marks_->floor, 0);
  sequence_ = last_sequence;
}

// --- Transactions.

absl::Status RewindLog::BeginLocked(OwnRecords* own) {
  if (own->transaction != 0) return absl::OkStatus();
  transactions_.Enter();
  if (!records_.Keep(own)) {
    absl::Status full = transactions_.Full();
    transactions_.Leave();
    return full;
  }
  own->transaction = next_transaction_++;
  return absl::OkStatus();
}

void RewindLog::Drop(OwnRecords* own) {
  if (own->transaction == 0) return;
  TurnLock lock(&mutex_);
  CHECK(own->records.empty() && !own->end.has_value());
  records_.GiveKept(own);
  transactions_.Leave();
  *own = OwnRecords();
}

absl::StatusOr<std::vector<LogRecord>> RewindLog::Write(
    OwnRecords* own, absl::Span<const Draft> drafts) {
  RETURN_IF_ERROR(BeginLocked(own));
  auto made = records_.Write(own, drafts);
  if (!made.has_value()) return transactions_.Full();
  return *std::move(made);
}

absl::Status RewindLog::Append(OwnRecords* own,
                               absl::Span<const Draft> drafts) {
  if (drafts.empty()) return absl::OkStatus();
  TurnLock lock(&mutex_);
  ASSIGN_OR_RETURN(auto made, Write(own, drafts));
  records_.Index(absl::MakeSpan(made), /*in_order=*/false);
  own->records.insert(own->records.end(), made.begin(), made.end());
  return absl::OkStatus();
}

LogRecord RewindLog::WriteEnd(OwnRecords* own, uint64_t sequence,
                              bool aborted) {
  const End end{sequence};
  own->sequence = sequence;
  const LogRecord record = records_.WriteKept(
      own, RecordType::kEnd, aborted ? kAborted : 0,
      {reinterpret_cast<const std::byte*>(&end), sizeof(end)});
  if (!options_.force) transactions_.BeginStoring(record.indexed.id);
  return record;
}

absl::Status RewindLog::AppendEnd(OwnRecords* own,
                                  absl::Span<const Draft> drafts,
                                  uint64_t sequence) {
  TurnLock lock(&mutex_);
  ASSIGN_OR_RETURN(auto made, Write(own, drafts));
  const size_t before_end = made.size();
  // There is none behind the last.
  if (sequence == 0) sequence = std::max(sequence_ + 1, sequence_);
  sequence_ = std::max(sequence_, sequence);
  made.push_back(WriteEnd(own, sequence, /*aborted=*/false));
  const absl::Span<LogRecord> all = absl::MakeSpan(made);
  if (options_.form == LogForm::kBatch) {
    records_.Index(all, /*in_order=*/true);
  } else {
    records_.Index(all.first(before_end), /*in_order=*/false);
    records_.Index(all.subspan(before_end), /*in_order=*/true);
  }
  own->end = made.back();
  made.pop_back();
  own->records.insert(own->records.end(), made.begin(), made.end());
  return absl::OkStatus();
}

void RewindLog::AppendCompensations(OwnRecords* own,
                                    absl::Span<const LogRecord* const> undone) {
  TurnLock lock(&mutex_);
  std::vector<LogRecord> made;
  for (const LogRecord* update : undone) {
    const Compensation compensation{update->indexed.id, update->indexed.record};
    made.push_back(
        records_.WriteKept(own, RecordType::kCompensation, 0,
                           {reinterpret_cast<const std::byte*>(&compensation),
                            sizeof(compensation)}));
  }
  records_.Index(absl::MakeSpan(made), /*in_order=*/true);
  own->records.insert(own->records.end(), made.begin(), made.end());
}

void RewindLog::AppendAborted(OwnRecords* own) {
  TurnLock lock(&mutex_);
  LogRecord end = WriteEnd(own, /*sequence=*/0, /*aborted=*/true);
  records_.Index({&end, 1}, /*in_order=*/true);
  own->end = end;
}

size_t RewindLog::blocks() const {
  TurnLock lock(&mutex_);
  return records_.blocks() + waiting_blocks_;
}

}  // namespace kamino::engine
