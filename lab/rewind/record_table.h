// The records in REWIND's log: where they lie, their numbers, and the index by
// which recovery finds them.
//
// Invariants:
//   1. A record that the index shows is whole. Its id is larger than that of
//      every one written before.
//   2. Room that is kept for the end of a transaction suffices for a record of
//      one unit, in the log and in the index.
#ifndef KAMINO_LAB_REWIND_RECORD_TABLE_H_
#define KAMINO_LAB_REWIND_RECORD_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "lab/rewind/log_record.h"
#include "lab/rewind/log_space.h"
#include "lab/rewind/record_codec.h"
#include "lab/rewind/record_index.h"
#include "lab/rewind/rewind_format.h"
#include "lab/rewind/rewind_options.h"

namespace kamino::engine {

// Not thread-safe.
class RecordTable {
 public:
  // Least bytes of a log area.
  static size_t MinBytes(const RewindOptions& options);

  // The heap must outlive this. Its log area is at least MinBytes() long, and
  // its log of that format.
  RecordTable(Heap* heap, const RewindOptions& options,
              rewind_format::LogFormat format);

  // --- Recovery, before anything else.

  // Brings what was under way to an end. kDataLoss: damaged.
  absl::Status Finish() { return index_->Finish(); }
  // In the order of ids. kDataLoss: damaged.
  absl::StatusOr<std::vector<FoundRecord>> Scan() const;
  // Durably none is left, at once.
  void Empty() { index_->Empty(); }

  // --- Room for what ends a transaction.

  // Keeps a unit; false: there is none.
  bool Keep(OwnRecords* own);
  void GiveKept(OwnRecords* own);

  // --- Writing: records are flushed, and count once they are indexed.

  // Large changes become several records. A unit is kept for the compensation
  // of each that has old bytes. Nothing: no space, and nothing has changed.
  std::optional<std::vector<LogRecord>> Write(OwnRecords* own,
                                              absl::Span<const Draft> drafts);
  // Writes a record into a kept unit.
  LogRecord WriteKept(OwnRecords* own, rewind_format::RecordType type,
                      uint8_t flags, absl::Span<const std::byte> data);
  // A checkpoint's record, which it also indexes. Nothing: no space.
  std::optional<LogRecord> AppendCheckpoint();
  // Durable on return; for `in_order` see RecordIndex::Append.
  void Index(absl::Span<LogRecord> records, bool in_order);

  // --- Leaving.

  // Durable on return; a crash on the way leaves any of them.
  void Remove(absl::Span<const Indexed> records) { index_->Remove(records); }
  // Frees the space of a record that is removed, or was never indexed.
  void GiveBack(const LogRecord& record);

  // Goes through the whole index for a transaction's records.
  size_t CountOf(uint64_t transaction) const;

  uint64_t next_id() const { return next_id_; }
  // Blocks of the heap that records lie in.
  size_t blocks() const { return blocks_; }
  // Whether less than half of the log's space is free.
  bool filling() const { return space_.free() < space_.size() / 2; }

 private:
  // Space for a record of so many bytes; nothing: none.
  std::optional<LogRecord> Place(size_t bytes);
  // Room for `piece` and its compensation; what it gets counts even if it does
  // not get all. `*places`: of the index, without the kept units'.
  bool TakeRoom(const Draft& piece, OwnRecords* own,
                std::vector<LogRecord>* placed, size_t* places);
  // Fills a unit.
  LogRecord WriteSmall(uint64_t unit, uint64_t transaction,
                       rewind_format::RecordType type, uint8_t flags,
                       absl::Span<const std::byte> data);

  Heap* const heap_;
  const RecordCodec codec_;
  LogSpace space_;
  const std::unique_ptr<RecordIndex> index_;
  uint64_t next_id_ = 1;
  size_t blocks_ = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_RECORD_TABLE_H_
