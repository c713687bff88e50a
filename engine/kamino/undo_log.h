// An undo log (docs/formats/undo_copy.md): the old bytes of ranges, saved
// before transactions store to them, and not needed once those are committed.
// The commit is recorded elsewhere: a record has a number, and a rollback is
// told up to which number everything is committed. So ending a transaction
// stores nothing here.
//
// Records follow each other from the region's start until none is needed any
// more; then the first place is reused. The checksum of a record is seeded by
// that of the previous record, so that an old record is not taken for the next
// one. The first one is seeded by a number that is unique to each log made in
// the region, as a new log may use the same record numbers again. (If a record
// is identical to an old one, the old record behind it may be found too. Its
// number was not committed in between, so its content is the old bytes after
// the same stores as now: rolling it back first is harmless.)
//
// Not thread-safe.
#ifndef KAMINO_ENGINE_KAMINO_UNDO_LOG_H_
#define KAMINO_ENGINE_KAMINO_UNDO_LOG_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "engine/kamino/undo_copy_format.h"
#include "engine/pmem/region.h"
#include "engine/transaction.h"

namespace kamino::engine {

class UndoLog {
 public:
  // Size of a region whose records take up to `bytes` together.
  static size_t RegionBytes(size_t bytes);
  // Size of a record that saves so many ranges of so many bytes in total.
  static constexpr uint64_t BytesFor(uint64_t ranges, uint64_t bytes) {
    constexpr uint64_t kHeader = sizeof(undo_copy_format::UndoRecord) + 64;
    return kHeader + ranges * (sizeof(undo_copy_format::UndoPiece) + 8) + bytes;
  }

  // An empty log, durably. Both must outlive it.
  static absl::StatusOr<std::unique_ptr<UndoLog>> Create(const Heap* heap,
                                                         Region* region);
  // A log with its durable records. kFailedPrecondition: another heap's, not an
  // undo log, another version.
  static absl::StatusOr<std::unique_ptr<UndoLog>> Open(const Heap* heap,
                                                       Region* region);

  // Saves the bytes of all ranges in `intents`; durable with this thread's next
  // Drain of region(). Numbers never decrease from one record to the next.
  // Skips ranges outside the heap's objects. kResourceExhausted: there is no
  // room; nothing is changed.
  absl::Status Save(uint64_t number, absl::Span<const Intent> intents);

  bool empty() const { return records_.empty(); }
  uint64_t newest() const { return empty() ? 0 : records_.back().number; }

  // Stores back, and flushes, bytes saved with numbers over `committed`, the
  // last first.
  void RollBack(uint64_t committed);

  // No saved bytes are needed any more: reuses the space.
  void Reuse();
  // The same, durably: a restart finds nothing.
  void Forget();

  Region* region() const { return region_; }
  uint64_t bytes_used() const { return end_ - undo_copy_format::kHeaderBytes; }
  uint64_t bytes_total() const {
    return region_->size() - undo_copy_format::kHeaderBytes;
  }

 private:
  struct Record {
    uint64_t offset;
    uint64_t number;
  };

  UndoLog(const Heap* heap, Region* region) : heap_(heap), region_(region) {}

  void Scan();
  // The number of logs made in the region; on media.
  uint64_t& round() const;
  // The size of the record that begins there; 0: there is none.
  uint64_t CheckedBytes(uint64_t offset) const;
  bool LiesWithin(const Intent& intent) const;
  // Stores a record of pieces_ at end_, and computes its checksum.
  void Store(undo_copy_format::UndoRecord* record);
  void StoreBack(const Record& record);

  const Heap* const heap_;
  Region* const region_;
  std::vector<Record> records_;
  uint64_t end_ = undo_copy_format::kHeaderBytes;
  uint64_t seed_ = 0;  // the last record's checksum; round() for the first one
  // During Save.
  std::vector<undo_copy_format::UndoPiece> pieces_;
  std::vector<std::byte> small_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_UNDO_LOG_H_
