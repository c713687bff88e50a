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

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/explore.h"
#include "engine/pmem/region.h"
#include "lab/archapt/archapt_format.h"
#include "lab/archapt/undo_header.h"
#include "lab/archapt/undo_records.h"
#include "lab/archapt/undo_scan.h"

namespace kamino::engine {

// Bytes that are about to be stored over.
struct UndoDraft {
  uint64_t address = 0;  // in the region
  absl::Span<const std::byte> old_bytes;
};

// A transaction's records in the ring.
struct OwnUndo {
  uint64_t transaction = 0;  // 0: nothing yet
  absl::InlinedVector<UndoRange, 4> records;
};

// Thread-safe, as far as each OwnUndo is one thread's.
class UndoRing {
 public:
  static constexpr size_t kLeastBytes = 2048;
  static constexpr size_t kMostBytes =
      archapt_format::kBatchMask * archapt_format::kLineBytes;

  // Where the ring lies in the region, and what the objects take: [begin, end)
  // of each. `ring_begin` is a multiple of lines.
  struct Place {
    archapt_format::LogHeader* header = nullptr;
    uint64_t ring_begin = 0;
    uint64_t ring_end = 0;
    ObjectArea objects;
  };

  // Not `checked`: records have no checks, and no crash is survived.
  UndoRing(Region* region, const Place& place, uint64_t seed,
           bool checked = true);

  // --- Recovery, before anything else.

  // kDataLoss: damaged.
  absl::StatusOr<UndoContents> Scan() const {
    return ScanUndo(header_, records_, objects_);
  }
  // Whether the log was never used.
  bool is_new() const { return header_.is_new(); }
  // Stores the old bytes again and flushes them; also a transaction's.
  void RollBack(const UndoRange& record) const;
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

  uint64_t lines() const { return records_.lines(); }
  // Lines that cannot be had at the moment.
  uint64_t lines_taken() const;

 private:
  using RecordType = archapt_format::RecordType;

  uint64_t Free() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return lines() - (head_ - durable_tail_) - open_count_;
  }
  void End(uint64_t transaction) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Full(const OwnUndo& own, uint64_t wanted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Stores and flushes; the line it begins at.
  uint64_t Write(RecordType type, uint64_t batch, uint64_t transaction,
                 uint64_t address, absl::Span<const std::byte> data)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Region* const region_;
  const ObjectArea objects_;
  UndoHeader header_;
  UndoRecords records_;

  mutable Mutex mutex_;
  uint64_t head_ ABSL_GUARDED_BY(mutex_) = 0;  // the next line
  uint64_t durable_tail_ ABSL_GUARDED_BY(mutex_) = 0;
  // The newest commit record; none: the header says the watermark.
  struct Commit {
    uint64_t line = 0;
    uint64_t watermark = 0;
  };
  std::optional<Commit> newest_commit_ ABSL_GUARDED_BY(mutex_);
  uint64_t recorded_commit_ ABSL_GUARDED_BY(mutex_) = 0;  // by the header
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
