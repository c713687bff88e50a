#include "engine/kamino/commit_log.h"

#include <xxhash.h>

#include <algorithm>
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
      claim_count_((lines_ + kClaimBlock - 1) / kClaimBlock * kClaimBlock),
      claims_(new std::atomic<uint64_t>[claim_count_]) {
  head_ = tail_ = header()->tail;
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
  region_->Persist(header(), sizeof(LogHeader));
}

void CommitLog::StoreSequence(uint64_t sequence) {
  if (sequence == header()->sequence) return;
  Reached(Branch::kLogSequenceKept);
  __atomic_store_n(&header()->sequence, sequence, __ATOMIC_RELEASE);
  region_->Persist(header(), sizeof(LogHeader));
}

std::optional<CommitLog::Claim> CommitLog::TryClaim(size_t entries) {
  const uint64_t lines = RecordLines(entries);
  SpinLockHolder lock(&mutex_);
  uint64_t position = head_;
  if (position % lines_ + lines > lines_) {
    Reached(Branch::kLogSkipsEnd);
    position += lines_ - position % lines_;  // not across the ring's end
  }
  if (position + lines > tail_ + lines_) {
    AdvanceTail();
    if (position + lines > tail_ + lines_) return std::nullopt;
  }
  if (position % lines_ == 0) Reached(Branch::kLogWraps);
  head_ = position + lines;
  ClaimAt(next_ordinal_).store(2 * position, std::memory_order_relaxed);
  return Claim{position, next_ordinal_++};
}

// Takes no lock: the caller has stores to media on their way, and a locked
// instruction would wait for them.
void CommitLog::Done(const Claim& claim) {
  ClaimAt(claim.ordinal)
      .store(2 * claim.position + 1, std::memory_order_release);
}

void CommitLog::Write(const CommitRecord& record) {
  constexpr size_t kSmall = 8;  // lines
  const size_t lines = RecordLines(record.entries.size());
  alignas(kLineBytes) std::byte small[kSmall * kLineBytes];
  std::vector<std::byte> large(lines > kSmall ? lines * kLineBytes : 0);
  if (lines > kSmall) Reached(Branch::kLogLargeRecord);
  std::byte* image = lines > kSmall ? large.data() : small;
  RecordHeader header{};
  header.position = record.position;
  header.sequence = record.sequence;
  header.data = record.data;
  header.count = static_cast<uint32_t>(record.entries.size());
  header.flags = record.flags;
  header.check = CheckOf(header, record.entries.data());
  const size_t entry_bytes = record.entries.size() * sizeof(Entry);
  std::memcpy(image, &header, sizeof(header));
  std::memcpy(image + sizeof(header), record.entries.data(), entry_bytes);
  // Whole lines bypass the cache.
  std::memset(image + sizeof(header) + entry_bytes, 0,
              lines * kLineBytes - sizeof(header) - entry_bytes);
  region_->CopyFlush(Line(record.position), image, lines * kLineBytes);
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
  // Lowers it only when no record has a larger one any more.
  if (last_sequence > header()->sequence) StoreSequence(last_sequence);
  StoreTail(head_);
  StoreSequence(last_sequence);
}

}  // namespace kamino::engine
