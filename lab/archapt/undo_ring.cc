#include "lab/archapt/undo_ring.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/baselines/checked_word.h"
#include "engine/resource_error.h"
#include "glog/logging.h"
#include "lab/explore.h"

namespace kamino::engine {

using archapt_format::kBatchMask;
using archapt_format::kLineBytes;

namespace {

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the log is damaged: ", what));
}

uint64_t SeedOfTail(uint64_t seed) { return seed ^ 1; }
uint64_t SeedOfWatermark(uint64_t seed) { return seed ^ 2; }
uint64_t SeedOfCommit(uint64_t seed) { return seed ^ 3; }
uint64_t SeedOfGiven(uint64_t seed) { return seed ^ 4; }

}  // namespace

UndoRing::UndoRing(Region* region, const Place& place, uint64_t seed,
                   bool checked)
    : region_(region),
      place_(place),
      ring_(region->base() + place.ring_begin),
      lines_((place.ring_end - place.ring_begin) / kLineBytes),
      seed_(seed),
      checked_(checked) {
  CHECK_GE(lines_ * kLineBytes, kLeastBytes);
  CHECK_LE(lines_ * kLineBytes, kMostBytes);
}

uint64_t UndoRing::LinesOf(uint64_t data_bytes) {
  return (sizeof(RecordHeader) + data_bytes + kLineBytes - 1) / kLineBytes;
}

uint64_t UndoRing::SeedOfLine(const RecordHeader& header) const {
  constexpr size_t kBegin = offsetof(RecordHeader, transaction);
  return XXH3_64bits_withSeed(
      reinterpret_cast<const std::byte*>(&header) + kBegin,
      offsetof(RecordHeader, check) - kBegin, seed_);
}

uint64_t UndoRing::CheckOf(const RecordHeader& header,
                           absl::Span<const std::byte> data) const {
  uint64_t seed = seed_;
  if (!data.empty()) seed ^= XXH3_64bits(data.data(), data.size());
  return XXH3_64bits_withSeed(&header, offsetof(RecordHeader, check), seed);
}

std::vector<std::byte> UndoRing::DataOf(uint64_t line, uint32_t length) const {
  std::vector<std::byte> data(length);
  const size_t begin = line % lines_ * kLineBytes + sizeof(RecordHeader);
  const size_t first = std::min<size_t>(length, lines_ * kLineBytes - begin);
  std::copy_n(ring_ + begin, first, data.begin());
  std::copy_n(ring_, length - first, data.begin() + first);
  return data;
}

// --- Recovery.

std::optional<UndoRing::RecordHeader> UndoRing::Parse(uint64_t line,
                                                      uint64_t end) const {
  RecordHeader header;
  std::memcpy(&header, At(line), sizeof(header));
  // The length is not believed before: these may be a client's bytes, and such
  // that make the log look long in each of its lines.
  if (NumberIn(header.line) != line ||
      header.line != MakeChecked(line, SeedOfLine(header)) ||
      LinesOf(header.length) > end - line) {
    return std::nullopt;
  }
  if (header.check != CheckOf(header, DataOf(line, header.length))) {
    return std::nullopt;
  }
  header.line = line;
  return header;
}

absl::Status UndoRing::CheckUpdate(const RecordHeader& header) const {
  if (header.address >= place_.objects_begin &&
      header.address <= place_.objects_end &&
      header.length <= place_.objects_end - header.address) {
    return absl::OkStatus();
  }
  return Damaged(absl::StrCat("its record at line ", header.line, " is of ",
                              header.length, " bytes at ", header.address,
                              ", outside of the objects"));
}

// A header that is lost reads as that of a new heap. Records are where they
// would not be: a recovery leaves the tail a whole ring further on.
absl::Status UndoRing::CheckNew() const {
  for (uint64_t line = 0; line < lines_; ++line) {
    RecordHeader header;
    std::memcpy(&header, At(line), sizeof(header));
    const uint64_t number = NumberIn(header.line);
    if (number < lines_ || number % lines_ != line) continue;
    if (header.line == MakeChecked(number, SeedOfLine(header))) {
      return Damaged(absl::StrCat("its header is that of a new one, and line ",
                                  number, " has a record"));
    }
  }
  return absl::OkStatus();
}

// A crash leaves a part of the last batch at most (invariant 1).
absl::Status UndoRing::CheckRest(uint64_t from, uint64_t end) const {
  for (uint64_t line = from; line < end; ++line) {
    const auto header = Parse(line, end);
    if (!header.has_value()) continue;
    if (line - (header->type_and_batch & kBatchMask) > from) {
      return Damaged(absl::StrCat("there is no record at its line ", from,
                                  ", and there is one behind, at ", line));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<UndoRing::Contents> UndoRing::Scan() const {
  const auto tail = ReadChecked(place_.header->tail, SeedOfTail(seed_));
  const auto watermark =
      ReadChecked(place_.header->watermark, SeedOfWatermark(seed_));
  const auto commit =
      ReadChecked(place_.header->newest_commit, SeedOfCommit(seed_));
  const auto given = ReadChecked(place_.header->given, SeedOfGiven(seed_));
  if (!tail.has_value() || !watermark.has_value() || !commit.has_value() ||
      !given.has_value()) {
    return Damaged("its header is no header");
  }
  if (*tail == 0) RETURN_IF_ERROR(CheckNew());
  Contents contents;
  contents.watermark = *watermark;
  std::vector<Found> updates;
  absl::flat_hash_set<uint64_t> ended;
  const uint64_t end = *tail + lines_;
  // A record that the tail has passed is not needed: the header has the
  // watermark.
  bool has_commit = *commit < *tail || *commit == 0 || !checked_;
  uint64_t line = *tail;
  while (line < end) {
    const auto header = Parse(line, end);
    if (!header.has_value()) break;
    switch (static_cast<RecordType>(header->type_and_batch >> 24)) {
      case RecordType::kUpdate:
        RETURN_IF_ERROR(CheckUpdate(*header));
        updates.push_back({RecordType::kUpdate,
                           {line, header->address, header->length},
                           header->transaction});
        break;
      case RecordType::kCommitted: {
        const auto numbers = DataOf(line, header->length);
        for (size_t at = 0; at + 8 <= numbers.size(); at += 8) {
          uint64_t transaction;
          std::memcpy(&transaction, numbers.data() + at, sizeof(transaction));
          ended.insert(transaction);
        }
        contents.watermark = std::max(contents.watermark, header->address);
        has_commit |= line == *commit;
        break;
      }
      case RecordType::kAborted:
        ended.insert(header->transaction);
        break;
      default:
        return Damaged(absl::StrCat("its record at line ", line,
                                    " is of no type that there is"));
    }
    line += LinesOf(header->length);
  }
  RETURN_IF_ERROR(CheckRest(line, end));
  if (!has_commit) {
    return Damaged(absl::StrCat("its header says that line ", *commit,
                                " has a record of commits, and it has none"));
  }
  absl::flat_hash_set<uint64_t> unfinished;
  for (const Found& update : updates) {
    if (ended.contains(update.transaction)) continue;
    unfinished.insert(update.transaction);
    contents.updates.push_back(update);
  }
  contents.transactions = unfinished.size();
  // A transaction with a place that is not committed physically logged
  // something before.
  contents.given = std::max(*given, contents.watermark) + contents.transactions;
  return contents;
}

void UndoRing::TakeBack(const OwnUndo::Record& record) const {
  const auto old_bytes = DataOf(record.line, record.length);
  region_->CopyFlush(region_->base() + record.address, old_bytes.data(),
                     old_bytes.size());
}

void UndoRing::Reset(uint64_t watermark, uint64_t given) {
  MutexLock lock(&mutex_);
  // The numbers of all that is there are below the new tail.
  const uint64_t tail =
      *ReadChecked(place_.header->tail, SeedOfTail(seed_)) + lines_;
  Put(&place_.header->given, given, SeedOfGiven(seed_));
  PutWatermark(watermark);
  Put(&place_.header->tail, tail, SeedOfTail(seed_));
  PersistHeader();
  head_ = durable_tail_ = tail;
}

void UndoRing::Put(uint64_t* word, uint64_t number, uint64_t seed) const {
  __atomic_store_n(word, MakeChecked(number, seed), __ATOMIC_RELAXED);
}

void UndoRing::PutWatermark(uint64_t watermark) const {
  Put(&place_.header->watermark, watermark, SeedOfWatermark(seed_));
  PersistHeader();
}

void UndoRing::PersistHeader() const {
  region_->Persist(place_.header, sizeof(*place_.header));
}

// --- Appending.

absl::Status UndoRing::Full(const OwnUndo& own, uint64_t lines) {
  // Lines needed in an empty ring; a transaction has one kept for its end.
  uint64_t needed = lines + (own.transaction != 0 ? 1 : 0);
  for (const OwnUndo::Record& record : own.records) {
    needed += LinesOf(record.length);
  }
  if (needed > lines_) {
    return ResourceError(
        Resource::kTransaction,
        absl::StrCat("the transaction changes too much: its old bytes take ",
                     needed, " lines; the log has ", lines_));
  }
  Reached(LabBranch::kArchaptLogFull);
  wants_room_ = true;
  // Room is given back in the order in which transactions began: an idle
  // transaction keeps what all others have logged since.
  const uint64_t behind = begun_.empty() ? 0 : head_ - begun_.front().line;
  const uint64_t others = open_count_ - (own.transaction != 0 ? 1 : 0);
  return ResourceError(
      Resource::kLog,
      absl::StrCat("the log is full: ", lines_ - Free(), " of its ", lines_,
                   " lines are taken, ", behind,
                   " of them since the oldest transaction began that is "
                   "unfinished or not durable yet; there are ",
                   others, " such beside this one"));
}

uint64_t UndoRing::Write(RecordType type, uint64_t batch, uint64_t transaction,
                         uint64_t address, absl::Span<const std::byte> data) {
  const uint64_t at_line = head_;
  RecordHeader header{};
  header.transaction = transaction;
  header.address = address;
  header.length = static_cast<uint32_t>(data.size());
  header.type_and_batch =
      static_cast<uint32_t>(type) << 24 | static_cast<uint32_t>(head_ - batch);
  header.line = MakeChecked(head_, SeedOfLine(header));
  if (checked_) header.check = CheckOf(header, data);
  std::byte line[kLineBytes] = {};
  std::memcpy(line, &header, sizeof(header));
  const size_t in_line = std::min(data.size(), kLineBytes - sizeof(header));
  std::copy_n(data.begin(), in_line, line + sizeof(header));
  region_->CopyFlush(At(head_), line, kLineBytes);
  for (size_t done = in_line; done < data.size();) {
    std::byte* const to = At(head_ + (sizeof(header) + done) / kLineBytes);
    const size_t to_end = ring_ + lines_ * kLineBytes - to;
    const size_t length = std::min(data.size() - done, to_end);
    region_->CopyFlush(to, data.data() + done, length);
    done += length;
  }
  head_ += LinesOf(data.size());
  if (at_line / lines_ != head_ / lines_) Reached(LabBranch::kArchaptGoesRound);
  return at_line;
}

absl::Status UndoRing::Append(OwnUndo* own,
                              absl::Span<const UndoDraft> drafts) {
  if (drafts.empty()) return absl::OkStatus();
  uint64_t lines = own->transaction == 0 ? 1 : 0;
  for (const UndoDraft& draft : drafts) {
    lines += LinesOf(draft.old_bytes.size());
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
        newest_commit_.has_value() ? newest_commit_->line : vouched_commit_;
    if (tail <= durable_tail_ && commit == vouched_commit_) return;
    tail = std::max(tail, durable_tail_);
  }
  // Others append meanwhile, behind it.
  if (watermark.has_value()) PutWatermark(*watermark);
  Put(&place_.header->newest_commit, commit, SeedOfCommit(seed_));
  Put(&place_.header->tail, tail, SeedOfTail(seed_));
  PersistHeader();
  MutexLock lock(&mutex_);
  durable_tail_ = tail;
  vouched_commit_ = commit;
}

uint64_t UndoRing::lines_taken() const {
  MutexLock lock(&mutex_);
  return lines_ - Free();
}

}  // namespace kamino::engine
