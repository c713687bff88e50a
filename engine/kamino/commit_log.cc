#include "engine/kamino/commit_log.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/explore.h"
#include "glog/logging.h"

namespace kamino::engine {

using commit_log_format::Entry;
using commit_log_format::kLineBytes;
using commit_log_format::LogHeader;
using commit_log_format::RecordHeader;
using commit_log_format::RecordLines;
using commit_log_format::RingLines;
using commit_log_format::RingOffset;

namespace {

// No record takes more than this part of the ring, so that several can be under
// way despite the space lost before the ring's end.
constexpr uint64_t kLargestShare = 4;

// Explorations use tiny heaps for a short time: with a part of the ring it is
// full at times, and large records still fit.
constexpr uint64_t UsedLines(size_t log_bytes) {
  return kExplores ? RingLines(log_bytes) * 2 / 3 : RingLines(log_bytes);
}

uint64_t CheckOf(const RecordHeader& header, const Entry* entries) {
  const uint64_t seed = XXH3_64bits(&header, offsetof(RecordHeader, check));
  return XXH3_64bits_withSeed(entries, header.count * sizeof(Entry), seed);
}

}  // namespace

CommitLog::CommitLog(Region* region, absl::Span<std::byte> area,
                     std::function<uint64_t()> committed)
    : region_(region),
      area_(area),
      ring_(area.data() + RingOffset(area.size())),
      lines_(UsedLines(area.size())),
      max_entries_(
          (lines_ / kLargestShare * kLineBytes - sizeof(RecordHeader)) /
          sizeof(Entry)),
      committed_(std::move(committed)),
      claim_count_(std::bit_ceil(std::max(lines_, kClaimBlock))),
      claims_(new std::atomic<uint64_t>[claim_count_]) {
  head_ = tail_ = header()->tail;
  head_line_ = head_ % lines_;
}

void CommitLog::AdvanceTail() {
  uint64_t tail = head_;
  for (; first_ordinal_ < next_ordinal_; ++first_ordinal_) {
    const uint64_t claim =
        ClaimAt(first_ordinal_).load(std::memory_order_acquire);
    if ((claim & 1) != 0) continue;
    Reached(Branch::kLogTailStops);
    tail = claim / 2;
    break;
  }
  if (tail == tail_) return;
  Reached(Branch::kLogTailMoves);
  if (committed_) {
    StoreSequence(std::max(committed_(), header()->sequence));
  }
  StoreTail(tail);
}

void CommitLog::StoreTail(uint64_t tail) {
  tail_ = tail;
  __atomic_store_n(&header()->tail, tail, __ATOMIC_RELEASE);
  PersistHeader();
}

void CommitLog::PersistHeader() {
  region_.Flush(header(), sizeof(LogHeader));
  region_.Drain();
}

void CommitLog::StoreSequence(uint64_t sequence) {
  if (sequence == header()->sequence) return;
  Reached(Branch::kLogSequenceKept);
  __atomic_store_n(&header()->sequence, sequence, __ATOMIC_RELEASE);
  PersistHeader();
}

std::optional<CommitLog::Claim> CommitLog::TryClaim(size_t entries) {
  const uint64_t lines = RecordLines(entries);
  SpinLockHolder lock(&mutex_);
  uint64_t position = head_;
  uint64_t line = head_line_;
  if (line + lines > lines_) {
    Reached(Branch::kLogSkipsEnd);
    position += lines_ - line;  // not across the ring's end
    line = 0;
  }
  if (position + lines > tail_ + lines_) {
    AdvanceTail();
    if (position + lines > tail_ + lines_) return std::nullopt;
  }
  if (line == 0) Reached(Branch::kLogWraps);
  head_ = position + lines;
  head_line_ = line + lines == lines_ ? 0 : line + lines;
  ClaimAt(next_ordinal_).store(2 * position, std::memory_order_relaxed);
  return Claim{position, line, next_ordinal_++};
}

// Takes no lock: the caller has stores to media on their way, and a locked
// instruction would wait for them.
void CommitLog::Done(const Claim& claim) {
  ClaimAt(claim.ordinal)
      .store(2 * claim.position + 1, std::memory_order_release);
}

void RecordImage::Start(size_t count) {
  const size_t lines = RecordLines(count);
  if (lines > kInlineLines) Reached(Branch::kLogLargeRecord);
  if (lines > lines_.size()) lines_.resize(lines);
  header() = {};
  header().count = static_cast<uint32_t>(count);
  // The unused end of the last line is written, too.
  std::byte* const end = reinterpret_cast<std::byte*>(entries() + count);
  std::memset(end, 0, data() + lines * kLineBytes - end);
}

void CommitLog::Write(const Claim& claim, RecordImage* record) {
  RecordHeader& header = record->header();
  header.position = claim.position;
  header.check = CheckOf(header, record->entries());
  region_.CopyFlush(ring_ + claim.line * kLineBytes, record->bytes(),
                    record->size());
}

std::optional<CommitRecord> CommitLog::ReadAt(uint64_t line) const {
  RecordHeader header;
  std::memcpy(&header, ring_ + line * kLineBytes, sizeof(header));
  if (header.position % lines_ != line || header.count > max_entries_ ||
      line + RecordLines(header.count) > lines_ || header.count == 0) {
    return std::nullopt;
  }
  const auto* entries = reinterpret_cast<const Entry*>(
      ring_ + line * kLineBytes + sizeof(header));
  if (header.check != CheckOf(header, entries)) return std::nullopt;
  return CommitRecord{header.position, header.sequence, header.data,
                      header.flags,
                      std::vector<Entry>(entries, entries + header.count)};
}

std::vector<CommitRecord> CommitLog::Scan() const {
  const uint64_t tail = header()->tail;
  std::vector<CommitRecord> records;
  for (uint64_t line = 0; line < lines_; ++line) {
    auto record = ReadAt(line);
    if (!record.has_value() || record->position < tail ||
        record->position - tail >= lines_) {
      continue;
    }
    records.push_back(*std::move(record));
  }
  std::sort(records.begin(), records.end(),
            [](const CommitRecord& a, const CommitRecord& b) {
              return a.position < b.position;
            });
  return records;
}

// Moves on by a whole round: no line of the ring can hold a record of that
// position, and a crash during the tail's store leaves either all records or
// none.
void CommitLog::Reset(uint64_t last_sequence) {
  SpinLockHolder lock(&mutex_);
  while (first_ordinal_ < next_ordinal_) {
    CHECK(ClaimAt(first_ordinal_++).load() & 1) << "claimed";
  }
  head_ = std::max(head_, header()->tail) + lines_;
  head_line_ = head_ % lines_;
  // Lowers it only when no record has a larger one any more.
  if (last_sequence > header()->sequence) StoreSequence(last_sequence);
  StoreTail(head_);
  StoreSequence(last_sequence);
}

}  // namespace kamino::engine
