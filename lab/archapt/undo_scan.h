// Reads what a crash has left in Archapt's undo ring, and tells damage from
// records that the crash has cut short. Stores nothing.
#ifndef KAMINO_LAB_ARCHAPT_UNDO_SCAN_H_
#define KAMINO_LAB_ARCHAPT_UNDO_SCAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "lab/archapt/undo_header.h"
#include "lab/archapt/undo_records.h"

namespace kamino::engine {

// Old bytes in the ring: those of [address, address + length) of the region.
struct UndoRange {
  uint64_t line = 0;  // of their record
  uint64_t address = 0;
  uint32_t length = 0;
};

struct UndoContents {
  struct Update {
    UndoRange record;
    uint64_t transaction = 0;
  };
  uint64_t watermark = 0;
  uint64_t given = 0;  // no commit has had a larger place, be it there or not
  std::vector<Update> updates;  // oldest first, of transactions without an end
  uint64_t transactions = 0;    // that those are of
};

// The heap's objects: [begin, end) of the region.
struct ObjectArea {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// kDataLoss: damaged.
absl::StatusOr<UndoContents> ScanUndo(const UndoHeader& header,
                                      const UndoRecords& records,
                                      const ObjectArea& objects);

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_UNDO_SCAN_H_
