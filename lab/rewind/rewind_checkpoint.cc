// How records leave the log: with their transaction, or by checkpoints.
#include <algorithm>
#include <utility>

#include "glog/logging.h"
#include "lab/rewind/rewind_format.h"
#include "lab/rewind/rewind_log.h"

namespace kamino::engine {

using rewind_format::kUnitBytes;

namespace {

// Records cleared at once, or more if one transaction has more. Between two
// such pieces other threads can use the log.
constexpr size_t kClearedAtOnce = 32;

// The number of transactions of the next piece.
size_t PieceOf(absl::Span<const OwnRecords> all) {
  size_t transactions = 0;
  for (size_t records = 0;
       transactions < all.size() && records < kClearedAtOnce; ++transactions) {
    records += all[transactions].records.size() + 1;
  }
  return transactions;
}

// Flushes the lines that they have stored to.
void FlushStored(Region* region, absl::Span<const OwnRecords> all) {
  std::vector<uint64_t> lines;
  for (const OwnRecords& own : all) {
    for (const LogRecord& record : own.records) {
      const uint64_t end = record.address + record.length;
      for (uint64_t at = record.address / kUnitBytes * kUnitBytes; at < end;
           at += kUnitBytes) {
        lines.push_back(at);
      }
    }
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  for (uint64_t line : lines) region->Flush(region->base() + line, kUnitBytes);
}

}  // namespace

std::vector<ObjectId> RewindLog::ClearAll(
    absl::Span<OwnRecords> all, const std::optional<LogRecord>& beside) {
  std::vector<Indexed> rest, ends;
  const uint64_t last_sequence = last_sequence_.Get();
  uint64_t sequence = last_sequence;
  for (const OwnRecords& own : all) {
    for (const LogRecord& record : own.records) rest.push_back(record.indexed);
    ends.push_back(own.end->indexed);
    sequence = std::max(sequence, own.sequence);
  }
  if (beside.has_value()) rest.push_back(beside->indexed);
  if (sequence != last_sequence) last_sequence_.Store(sequence);
  if (rest.empty()) region_->Drain();
  records_.Remove(rest);
  records_.Remove(ends);
  std::vector<ObjectId> freed;
  if (beside.has_value()) records_.GiveBack(*beside);
  for (OwnRecords& own : all) {
    for (const LogRecord& record : own.records) records_.GiveBack(record);
    records_.GiveBack(*own.end);
    records_.GiveKept(&own);
    freed.insert(freed.end(), own.freed.begin(), own.freed.end());
    own = OwnRecords();
  }
  return freed;
}

void RewindLog::FindLocked(const OwnRecords& own) const {
  if (!options_.scans || options_.layers != 1) return;
  CHECK_EQ(records_.CountOf(own.transaction),
           own.records.size() + (own.end.has_value() ? 1 : 0));
}

void RewindLog::Find(const OwnRecords& own) const {
  TurnLock lock(&mutex_);
  FindLocked(own);
}

std::vector<ObjectId> RewindLog::Clear(OwnRecords* own) {
  TurnLock lock(&mutex_);
  FindLocked(*own);
  transactions_.Leave();
  return ClearAll(absl::MakeSpan(own, 1), std::nullopt);
}

void RewindLog::Finished(OwnRecords* own) {
  TurnLock lock(&mutex_);
  waiting_blocks_ += own->freed.size();
  transactions_.Finish(std::move(*own));
  *own = OwnRecords();
}

bool RewindLog::Checkpoint() {
  if (!options_.keeps_finished()) return false;
  MutexLock one(&checkpoint_mutex_);
  std::vector<OwnRecords> done;
  std::optional<LogRecord> mark;
  uint64_t floor;
  {
    TurnLock lock(&mutex_);
    if (!transactions_.any_finished()) return false;
    // It is but a note: the floor says the same. A full log needs none.
    mark = records_.AppendCheckpoint();
    checkpoint_id_ = records_.next_id();
    floor = transactions_.FloorBefore(checkpoint_id_);
    done = transactions_.TakeFinished(floor);
  }
  // With force, what they stored was flushed before their ends.
  if (!options_.force) FlushStored(region_, done);
  region_->Drain();
  words_.Persist(&marks_->floor, floor);
  absl::Span<OwnRecords> left = absl::MakeSpan(done);
  do {
    const auto piece = left.first(PieceOf(left));
    left.remove_prefix(piece.size());
    {
      TurnLock lock(&mutex_);
      for (ObjectId block : ClearAll(piece, mark)) {
        heap_->Release(block);
        --waiting_blocks_;
      }
      mark.reset();
      transactions_.SetLeaving(left.size());
    }
    if (!left.empty()) mutex_.LetOthers();
  } while (!left.empty());
  return !done.empty();
}

bool RewindLog::WantsCheckpoint() const {
  if (!options_.keeps_finished()) return false;
  TurnLock lock(&mutex_);
  // Early enough that transactions need not make checkpoints themselves.
  const uint64_t records = records_.next_id() - checkpoint_id_;
  return transactions_.any_finished() &&
         (records_.filling() || records >= options_.checkpoint_records);
}

}  // namespace kamino::engine
