// Archapt's undo records, of all transactions, in a ring of lines in the order
// in which they became durable (lab/docs/archapt.md).
//
// Invariants:
//   1. Records become durable in batches, one batch after the other: a crash
//      cuts the last one short, and nothing before.
//   2. A transaction that appended an update has a line kept for its abort, or
//      its share of a commit record: neither fails for want of room.
//   3. The newest commit record stays in front of the tail: it holds the
//      watermark. When its room is needed, the watermark goes to the header
//      first. Until then the header says where the record is, from the next
//      PublishTail on.
//   4. A line is stored to again only when the tail on media is behind it.
#ifndef KAMINO_LAB_ARCHAPT_UNDO_RING_H_
#define KAMINO_LAB_ARCHAPT_UNDO_RING_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/explore.h"
#include "engine/pmem/region.h"
#include "lab/archapt/archapt_format.h"

namespace kamino::engine {

// Bytes that are about to be stored over.
struct UndoDraft {
  uint64_t address = 0;  // in the region
  absl::Span<const std::byte> old_bytes;
};

// A transaction's records in the ring.
struct OwnUndo {
  struct Record {
    uint64_t line = 0;
    uint64_t address = 0;
    uint32_t length = 0;
  };
  uint64_t transaction = 0;  // 0: nothing yet
  absl::InlinedVector<Record, 4> records;
};

// Thread-safe, as far as each OwnUndo is one thread's.
class UndoRing {
 public:
  static constexpr size_t kLeastBytes = 2048;
  static constexpr size_t kMostBytes =
      archapt_format::kBatchMask * archapt_format::kLineBytes;

  // Where the ring lies in the region, and what the objects take: [begin, end)
  // of each. `ring` is a multiple of lines.
  struct Place {
    archapt_format::LogHeader* header = nullptr;
    uint64_t ring_begin = 0;
    uint64_t ring_end = 0;
    uint64_t objects_begin = 0;
    uint64_t objects_end = 0;
  };

  // Not `checked`: records have no checks, and no crash is survived.
  UndoRing(Region* region, const Place& place, uint64_t seed,
           bool checked = true);

  // --- Recovery, before anything else.

  struct Found {
    archapt_format::RecordType type = archapt_format::RecordType::kUpdate;
    OwnUndo::Record record;
    uint64_t transaction = 0;
  };
  struct Contents {
    uint64_t watermark = 0;
    uint64_t given = 0;  // no commit has had a larger place, be it there or not
    std::vector<Found> updates;  // oldest first, of transactions without an end
    uint64_t transactions = 0;   // that those are of
  };
  // kDataLoss: damaged.
  absl::StatusOr<Contents> Scan() const;
  // Whether the log was never used.
  bool is_new() const { return place_.header->tail == 0; }
  // Stores the old bytes again and flushes them; also a transaction's.
  void TakeBack(const OwnUndo::Record& record) const;
  // Nothing is left to do: durably empty.
  void Reset(uint64_t watermark, uint64_t given);

  // --- Transactions. What is appended is durable on return, and what the
  // thread has flushed before.

  // ResourceError: no room, for now (kLog) or for so much at all
  // (kTransaction); nothing is appended then.
  absl::Status Append(OwnUndo* own, absl::Span<const UndoDraft> drafts);
  // All is rolled back, durably with this at the latest.
  void AppendAborted(OwnUndo* own);

  // --- Physical commits.

  // The transactions up to this sequence are those.
  void AppendCommitted(absl::Span<const uint64_t> transactions,
                       uint64_t watermark);
  // Gives back, durably, the lines that no transaction needs any more; the
  // header then says where the newest commit record is. One thread at a time,
  // and not while a commit is appended.
  void PublishTail();

  uint64_t lines() const { return lines_; }
  // Lines that cannot be had at the moment.
  uint64_t lines_taken() const;

 private:
  using RecordHeader = archapt_format::RecordHeader;
  using RecordType = archapt_format::RecordType;

  std::byte* At(uint64_t line) const {
    return ring_ + line % lines_ * archapt_format::kLineBytes;
  }
  static uint64_t LinesOf(uint64_t data_bytes);
  // Seed of the check of a record's first word.
  uint64_t SeedOfLine(const RecordHeader& header) const;
  uint64_t CheckOf(const RecordHeader& header,
                   absl::Span<const std::byte> data) const;
  // The data of the record that begins there; from both ends of the ring, if it
  // has to be.
  std::vector<std::byte> DataOf(uint64_t line, uint32_t length) const;
  // Nothing: no record is there that is whole.
  std::optional<RecordHeader> Parse(uint64_t line, uint64_t end) const;
  absl::Status CheckUpdate(const RecordHeader& header) const;
  absl::Status CheckNew() const;
  absl::Status CheckRest(uint64_t from, uint64_t end) const;

  uint64_t Free() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return lines_ - (head_ - durable_tail_) - open_count_;
  }
  void End(uint64_t transaction) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Full(const OwnUndo& own, uint64_t lines)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Put(uint64_t* word, uint64_t number, uint64_t seed) const;
  // Durably.
  void PutWatermark(uint64_t watermark) const;
  void PersistHeader() const;
  // Stores and flushes; the line it begins at.
  uint64_t Write(RecordType type, uint64_t batch, uint64_t transaction,
                 uint64_t address, absl::Span<const std::byte> data)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Region* const region_;
  const Place place_;
  std::byte* const ring_;
  const uint64_t lines_;
  const uint64_t seed_;
  const bool checked_;

  mutable Mutex mutex_;
  uint64_t head_ ABSL_GUARDED_BY(mutex_) = 0;  // the next line
  uint64_t durable_tail_ ABSL_GUARDED_BY(mutex_) = 0;
  // The newest commit record; none: the header says the watermark.
  struct Commit {
    uint64_t line = 0;
    uint64_t watermark = 0;
  };
  std::optional<Commit> newest_commit_ ABSL_GUARDED_BY(mutex_);
  uint64_t vouched_commit_ ABSL_GUARDED_BY(mutex_) = 0;  // by the header
  // Whether a transaction has found no room.
  bool wants_room_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_transaction_ ABSL_GUARDED_BY(mutex_) = 1;
  // The first lines of transactions, without gaps from the first that has no
  // end here to the last that began.
  struct Begun {
    uint64_t line = 0;
    bool ended = false;
  };
  std::deque<Begun> begun_ ABSL_GUARDED_BY(mutex_);
  uint64_t open_count_ ABSL_GUARDED_BY(mutex_) = 0;  // that have no end
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_UNDO_RING_H_
