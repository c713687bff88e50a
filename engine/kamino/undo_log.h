// An undo log (docs/formats/undo_copy.md): what lay where transactions store,
// saved before they do, and of no use once they are committed. What says so is
// kept elsewhere: a record has a number, and whoever takes back tells up to
// which one everything is committed. So ending a transaction stores nothing
// here.
//
// Records follow each other from the region's start, until all of them are of
// no use; then the first place is used again. The checksum of a record is
// seeded by that of the one before it, so that none of before is taken for the
// next one; that of the first one by a number which each log that is made in
// the region has for itself, as the next one may give what was dropped the same
// numbers again. (Where a record is bit by bit what was there before, the one
// behind it may be found, too. Its number is one that was not committed in
// between, so what it holds is what lay there when the same things had been
// stored as now: taking it back first does no harm.)
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
#include "engine/kamino/backup_format.h"
#include "engine/pmem/region.h"
#include "engine/transaction.h"

namespace kamino::engine {

class UndoLog {
 public:
  // Of a region whose records take up to `bytes` together.
  static size_t RegionBytes(size_t bytes);
  // What a record takes that saves so many ranges of so many bytes in all.
  static constexpr uint64_t BytesFor(uint64_t ranges, uint64_t bytes) {
    constexpr uint64_t kHeader = sizeof(backup_format::UndoRecord) + 64;
    return kHeader + ranges * (sizeof(backup_format::UndoPiece) + 8) + bytes;
  }

  // Empty, durably. Both must outlive it.
  static absl::StatusOr<std::unique_ptr<UndoLog>> Create(const Heap* heap,
                                                         Region* region);
  // With the records that were durable. kFailedPrecondition: not this heap's,
  // not an undo log, another version.
  static absl::StatusOr<std::unique_ptr<UndoLog>> Open(const Heap* heap,
                                                       Region* region);

  // Saves the bytes of all that `intents` say will be written; durable with
  // this thread's next Drain of region(). Numbers never get less from one
  // record to the next. What is no range of the heap's objects is left out.
  // kResourceExhausted: there is no room; nothing is changed.
  absl::Status Save(uint64_t number, absl::Span<const Intent> intents);

  bool empty() const { return records_.empty(); }
  uint64_t newest() const { return empty() ? 0 : records_.back().number; }

  // Stores back, and flushes, what was saved with numbers over `committed`,
  // the last first.
  void TakeBack(uint64_t committed);

  // Nothing that was saved is of use any more: the space is used again.
  void Reuse();
  // The same, durably: a restart finds nothing.
  void Forget();

  Region* region() const { return region_; }
  uint64_t bytes_used() const { return end_ - backup_format::kHeaderBytes; }
  uint64_t bytes_total() const {
    return region_->size() - backup_format::kHeaderBytes;
  }

 private:
  struct Record {
    uint64_t offset;
    uint64_t number;
  };

  UndoLog(const Heap* heap, Region* region) : heap_(heap), region_(region) {}

  void Scan();
  // How many logs were made in the region; on media.
  uint64_t& round() const;
  // Of the record that begins there; 0: there is none.
  uint64_t CheckedBytes(uint64_t offset) const;
  bool LiesWithin(const Intent& intent) const;
  // Stores a record of pieces_, whose checksum is still to be made, at end_.
  void Store(backup_format::UndoRecord* record);
  void StoreBack(const Record& record);

  const Heap* const heap_;
  Region* const region_;
  std::vector<Record> records_;
  uint64_t end_ = backup_format::kHeaderBytes;
  uint64_t seed_ = 0;  // the last record's checksum; round() for the first one
  // While it saves.
  std::vector<backup_format::UndoPiece> pieces_;
  std::vector<std::byte> small_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_UNDO_LOG_H_
