// Commit records in a ring: recently committed transactions, their changes, and
// a checksum of those, so that a record and the data it commits can share one
// drain. docs/formats/commit_log.md.
//
// Invariants:
//   1. Positions ascend in the order of commits: a transaction that finds an
//      object changed by another one has the higher position.
//   2. A record's lines are reused only after Done was called for it and the
//      durable tail has passed it.
//   3. Before the tail passes a record its sequence, or a larger committed one,
//      is durable in the log's header.
#ifndef KAMINO_ENGINE_KAMINO_COMMIT_LOG_H_
#define KAMINO_ENGINE_KAMINO_COMMIT_LOG_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "engine/kamino/commit_log_format.h"
#include "engine/kamino/spin_lock.h"
#include "engine/pmem/region.h"
#include "engine/pmem/region_writer.h"
#include "engine/transaction.h"

namespace kamino::engine {

// A record as it was read.
struct CommitRecord {
  uint64_t position = 0;
  uint64_t sequence = 0;
  uint64_t data = 0;
  uint32_t flags = 0;
  std::vector<commit_log_format::Entry> entries;
};

// A record to be written, in whole lines as in the ring. It keeps its memory,
// so that a record of up to kInlineEntries entries never allocates any.
class RecordImage {
 public:
  using Entry = commit_log_format::Entry;
  using Header = commit_log_format::RecordHeader;

  static constexpr size_t kInlineLines = 8;
  static constexpr size_t kInlineEntries =
      (kInlineLines * commit_log_format::kLineBytes - sizeof(Header)) /
      sizeof(Entry);

  // Begins a record of `count` entries, which the caller sets, as it does the
  // header's `sequence`, `data` and `flags`: they are 0.
  void Start(size_t count);

  Header& header() { return *reinterpret_cast<Header*>(data()); }
  const Header& header() const {
    return *reinterpret_cast<const Header*>(bytes());
  }
  Entry* entries() { return reinterpret_cast<Entry*>(data() + sizeof(Header)); }
  const Entry* entries() const {
    return reinterpret_cast<const Entry*>(bytes() + sizeof(Header));
  }
  size_t size() const {
    return commit_log_format::RecordLines(header().count) *
           commit_log_format::kLineBytes;
  }
  const std::byte* bytes() const { return lines_.data()->bytes; }

 private:
  struct alignas(commit_log_format::kLineBytes) Line {
    std::byte bytes[commit_log_format::kLineBytes];
  };

  std::byte* data() { return lines_.data()->bytes; }

  absl::InlinedVector<Line, kInlineLines> lines_;
};

// Thread-safe.
class CommitLog {
 public:
  // `area` is the heap's log area, in `region`. Both must outlive this.
  // `committed` returns the largest sequence that has committed; it is called
  // with a lock held, seldom. Null: there are no sequences.
  CommitLog(Region* region, absl::Span<std::byte> area,
            std::function<uint64_t()> committed = nullptr);

  // Most entries that one record can have.
  size_t max_entries() const { return max_entries_; }

  // Room for a record, in the order of the calls. Done must end it.
  struct Claim {
    uint64_t position = 0;
    uint64_t line = 0;  // of the ring
    uint64_t ordinal = 0;
  };
  // Nothing: the ring is full of records without Done.
  std::optional<Claim> TryClaim(size_t entries);

  // Completes the record, stores it at the claim and flushes it; durable with
  // this thread's next Drain.
  void Write(const Claim& claim, RecordImage* record);

  // The record's effects are durable: recovery does not need it any more.
  void Done(const Claim& claim);

  // All valid records that may still matter, in order of position. Before the
  // first claim.
  std::vector<CommitRecord> Scan() const;

  // Voids all records; durable on return, as is last_sequence() from then on.
  // There must be no claims.
  void Reset(uint64_t last_sequence);

  // The last one whose record is gone.
  uint64_t last_sequence() const { return header()->sequence; }

 private:
  commit_log_format::LogHeader* header() const {
    return reinterpret_cast<commit_log_format::LogHeader*>(area_.data());
  }
  std::optional<CommitRecord> ReadAt(uint64_t line) const;
  // Advances the durable tail up to the first record without Done.
  void AdvanceTail() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StoreTail(uint64_t tail) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StoreSequence(uint64_t sequence);  // durably
  void PersistHeader();

  static constexpr size_t kLine = commit_log_format::kLineBytes;

  const RegionWriter region_;
  const absl::Span<std::byte> area_;
  std::byte* const ring_;
  const uint64_t lines_;
  const size_t max_entries_;
  const std::function<uint64_t()> committed_;

  // Apart from data that is only read.
  alignas(kLine) mutable SpinLock mutex_;
  uint64_t head_ ABSL_GUARDED_BY(mutex_) = 0;  // position of the next record
  uint64_t head_line_ ABSL_GUARDED_BY(mutex_) = 0;  // of the ring
  uint64_t tail_ ABSL_GUARDED_BY(mutex_) = 0;       // as on media
  uint64_t first_ordinal_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_ordinal_ ABSL_GUARDED_BY(mutex_) = 0;

  // Claims from first_ordinal_ to next_ordinal_, never more than the ring has
  // lines: twice the position, plus 1 when it is done. Adjacent claims, of
  // different threads, are in different cache lines, which are soon used again.
  std::atomic<uint64_t>& ClaimAt(uint64_t ordinal) const {
    constexpr uint64_t kPerLine = kLine / sizeof(uint64_t);
    const uint64_t at = ordinal & (claim_count_ - 1);
    const uint64_t in_block = at % kClaimBlock;
    return claims_[at - in_block + in_block % kPerLine * kPerLine +
                   in_block / kPerLine];
  }
  static constexpr uint64_t kClaimBlock = 64;
  alignas(kLine) const uint64_t claim_count_;  // a power of two
  const std::unique_ptr<std::atomic<uint64_t>[]> claims_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_COMMIT_LOG_H_
