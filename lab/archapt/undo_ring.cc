#include "lab/archapt/undo_ring.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/resource_error.h"
#include "glog/logging.h"
#include "lab/explore.h"

namespace kamino::engine {

using archapt_format::kLineBytes;
using archapt_format::RecordHeader;

UndoRing::UndoRing(Region* region, const Place& place, uint64_t seed,
                   bool checked)
    : region_(region),
      objects_(place.objects),
      header_(region, place.header, seed),
      records_(region, place.ring_begin, place.ring_end, seed, checked) {
  CHECK_GE(lines() * kLineBytes, kLeastBytes);
  CHECK_LE(lines() * kLineBytes, kMostBytes);
}

// --- Recovery.

void UndoRing::RollBack(const UndoRange& record) const {
  const auto old_bytes = records_.DataOf(record.line, record.length);
  region_->CopyFlush(region_->base() + record.address, old_bytes.data(),
                     old_bytes.size());
}

void UndoRing::Reset(uint64_t watermark, uint64_t given) {
  MutexLock lock(&mutex_);
  // The numbers of all that is there are below the new tail.
  const uint64_t tail = header_.Read()->tail + lines();
  header_.StoreRecovered(watermark, given, tail);
  head_ = durable_tail_ = tail;
}

// --- Appending.

absl::Status UndoRing::Full(const OwnUndo& own, uint64_t wanted) {
  // Lines needed in an empty ring; a transaction has one kept for its end.
  uint64_t needed = wanted + (own.transaction != 0 ? 1 : 0);
  for (const UndoRange& record : own.records) {
    needed += UndoRecords::LinesOf(record.length);
  }
  if (needed > lines()) {
    return ResourceError(
        Resource::kTransaction,
        absl::StrCat("the transaction changes too much: its old bytes take ",
                     needed, " lines; the log has ", lines()));
  }
  Reached(LabBranch::kArchaptLogFull);
  wants_room_ = true;
  // Room is given back in the order in which transactions began: an idle
  // transaction keeps what all others have logged since.
  const uint64_t behind = begun_.empty() ? 0 : head_ - begun_.front().line;
  const uint64_t others = open_count_ - (own.transaction != 0 ? 1 : 0);
  return ResourceError(
      Resource::kLog,
      absl::StrCat("the log is full: ", lines() - Free(), " of its ", lines(),
                   " lines are taken, ", behind,
                   " of them since the oldest transaction began that is "
                   "unfinished or not durable yet; there are ",
                   others, " such beside this one"));
}

uint64_t UndoRing::Write(RecordType type, uint64_t batch, uint64_t transaction,
                         uint64_t address, absl::Span<const std::byte> data) {
  const uint64_t line = head_;
  RecordHeader header{};
  header.transaction = transaction;
  header.address = address;
  header.type_and_batch =
      static_cast<uint32_t>(type) << 24 | static_cast<uint32_t>(line - batch);
  records_.Write(line, header, data);
  head_ += UndoRecords::LinesOf(data.size());
  if (line / lines() != head_ / lines()) Reached(LabBranch::kArchaptGoesRound);
  return line;
}

absl::Status UndoRing::Append(OwnUndo* own,
                              absl::Span<const UndoDraft> drafts) {
  if (drafts.empty()) return absl::OkStatus();
  uint64_t lines = own->transaction == 0 ? 1 : 0;
  for (const UndoDraft& draft : drafts) {
    lines += UndoRecords::LinesOf(draft.old_bytes.size());
  }
  MutexLock lock(&mutex_);
  if (lines > Free()) return Full(*own, lines);
  if (own->transaction == 0) {
    own->transaction = next_transaction_++;
    begun_.push_back({head_});
    ++open_count_;
  }
  const uint64_t batch = head_;
  for (const UndoDraft& draft : drafts) {
    const uint64_t line = Write(RecordType::kUpdate, batch, own->transaction,
                                draft.address, draft.old_bytes);
    own->records.push_back(
        {line, draft.address, static_cast<uint32_t>(draft.old_bytes.size())});
  }
  region_->Drain();
  return absl::OkStatus();
}

void UndoRing::End(uint64_t transaction) {
  const uint64_t first = next_transaction_ - begun_.size();
  begun_[transaction - first].ended = true;
  --open_count_;
  while (!begun_.empty() && begun_.front().ended) begun_.pop_front();
}

void UndoRing::AppendAborted(OwnUndo* own) {
  // The bytes that it stored again become durable before the record.
  region_->Drain();
  MutexLock lock(&mutex_);
  End(own->transaction);
  Write(RecordType::kAborted, head_, own->transaction, 0, {});
  region_->Drain();
  own->transaction = 0;
  own->records.clear();
}

// --- Physical commits.

void UndoRing::AppendCommitted(absl::Span<const uint64_t> transactions,
                               uint64_t watermark) {
  MutexLock lock(&mutex_);
  const uint64_t line =
      Write(RecordType::kCommitted, head_, 0, watermark,
            {reinterpret_cast<const std::byte*>(transactions.data()),
             transactions.size() * sizeof(uint64_t)});
  newest_commit_ = Commit{line, watermark};
  region_->Drain();
  for (uint64_t transaction : transactions) End(transaction);
}

void UndoRing::PublishTail() {
  uint64_t tail;
  uint64_t commit;
  std::optional<uint64_t> watermark;
  {
    MutexLock lock(&mutex_);
    tail = begun_.empty() ? head_ : begun_.front().line;
    if (newest_commit_.has_value() && newest_commit_->line < tail) {
      if (wants_room_) {
        // Or transactions that are all aborted would fill the ring for good.
        Reached(LabBranch::kArchaptTailPassesCommit);
        watermark = newest_commit_->watermark;
        newest_commit_.reset();
      } else {
        tail = newest_commit_->line;
      }
    }
    // While it is in the way, whatever keeps the tail now, they want it still.
    if (!newest_commit_.has_value()) wants_room_ = false;
    // A long transaction may hold up the tail, but the header can still name a
    // later commit record.
    commit =
        newest_commit_.has_value() ? newest_commit_->line : recorded_commit_;
    if (tail <= durable_tail_ && commit == recorded_commit_) return;
    tail = std::max(tail, durable_tail_);
  }
  // Others append meanwhile, behind it.
  if (watermark.has_value()) header_.StoreWatermark(*watermark);
  header_.StoreTail(tail, commit);
  MutexLock lock(&mutex_);
  durable_tail_ = tail;
  recorded_commit_ = commit;
}

uint64_t UndoRing::lines_taken() const {
  MutexLock lock(&mutex_);
  return lines() - Free();
}

}  // namespace kamino::engine
