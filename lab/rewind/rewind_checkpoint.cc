// How records leave the log: with their transaction, or by checkpoints.
#include <algorithm>
#include <iterator>
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
  index_->Remove(rest);
  index_->Remove(ends);
  std::vector<ObjectId> freed;
  if (beside.has_value()) GiveBack(*beside);
  for (OwnRecords& own : all) {
    for (const LogRecord& record : own.records) GiveBack(record);
    GiveBack(*own.end);
    GiveKept(&own);
    freed.insert(freed.end(), own.freed.begin(), own.freed.end());
    own = OwnRecords();
  }
  return freed;
}

void RewindLog::FindLocked(const OwnRecords& own) const {
  if (!options_.scans || options_.layers != 1) return;
  const auto offsets = index_->Scan();
  CHECK(offsets.ok()) << offsets.status();
  size_t found = 0;
  for (const uint64_t offset : *offsets) {
    const auto* record = reinterpret_cast<const RecordHeader*>(At(offset));
    if (record->transaction == own.transaction) ++found;
  }
  CHECK_EQ(found, own.records.size() + (own.end.has_value() ? 1 : 0));
}

void RewindLog::Find(const OwnRecords& own) const {
  TurnLock lock(&mutex_);
  FindLocked(own);
}

std::vector<ObjectId> RewindLog::Clear(OwnRecords* own) {
  TurnLock lock(&mutex_);
  FindLocked(*own);
  --live_;
  return ClearAll(absl::MakeSpan(own, 1), std::nullopt);
}

void RewindLog::Finished(OwnRecords* own) {
  TurnLock lock(&mutex_);
  --live_;
  storing_.erase(own->end->indexed.id);
  blocks_ += own->freed.size();
  finished_.push_back(std::move(*own));
  *own = OwnRecords();
}

std::optional<LogRecord> RewindLog::MakeCheckpoint() {
  // It is but a note: the floor says the same. A full log needs none.
  if (!index_->Reserve(1)) return std::nullopt;
  const auto unit = space_.Take(1);
  if (!unit.has_value()) {
    index_->Unreserve(1);
    return std::nullopt;
  }
  LogRecord mark = WriteSmall(*unit, 0, RecordType::kCheckpoint, 0, {});
  Index({&mark, 1}, /*in_order=*/true);
  return mark;
}

void RewindLog::FlushStored(absl::Span<const OwnRecords> all) const {
  if (options_.force) return;  // it was, before their ends
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
  for (uint64_t line : lines) region_->Flush(At(line), kUnitBytes);
}

bool RewindLog::Checkpoint() {
  MutexLock one(&checkpoint_mutex_);
  std::vector<OwnRecords> done;
  std::optional<LogRecord> mark;
  uint64_t floor;
  {
    TurnLock lock(&mutex_);
    if (finished_.empty()) return false;
    mark = MakeCheckpoint();
    floor = storing_.empty() ? next_id_ : std::min(next_id_, *storing_.begin());
    const auto late = std::partition(
        finished_.begin(), finished_.end(),
        [floor](const OwnRecords& own) { return own.end->indexed.id < floor; });
    done.assign(std::make_move_iterator(finished_.begin()),
                std::make_move_iterator(late));
    finished_.erase(finished_.begin(), late);
    leaving_ = done.size();
    records_since_checkpoint_ = 0;
  }
  FlushStored(done);
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
        --blocks_;
      }
      mark.reset();
      leaving_ = left.size();
    }
    if (!left.empty()) mutex_.LetOthers();
  } while (!left.empty());
  return !done.empty();
}

bool RewindLog::WantsCheckpoint() const {
  TurnLock lock(&mutex_);
  // Early enough that transactions need not make checkpoints themselves.
  const bool filling = space_.free() < space_.size() / 2;
  return !finished_.empty() &&
         (filling || records_since_checkpoint_ >= options_.checkpoint_records);
}

}  // namespace kamino::engine
