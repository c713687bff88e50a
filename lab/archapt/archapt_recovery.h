// Recovery of a heap under Archapt after a crash. Private to the store.
#ifndef KAMINO_LAB_ARCHAPT_ARCHAPT_RECOVERY_H_
#define KAMINO_LAB_ARCHAPT_ARCHAPT_RECOVERY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "engine/transactional_store.h"
#include "lab/archapt/matrix_table.h"
#include "lab/archapt/undo_ring.h"

namespace kamino::engine {

// Where the parts of the log are.
struct ArchaptLayout {
  UndoRing::Place ring;
  uint64_t slots_begin = 0;
  size_t slots = 0;
  uint64_t seed = 0;  // of what is checked
};
// kInvalidArgument: the log area is too small, or too large.
absl::StatusOr<ArchaptLayout> LayoutOf(const Heap& heap);

// How many slots a log area of so many bytes has; the same errors.
absl::StatusOr<size_t> SlotsOf(size_t log_bytes);

struct ArchaptRecovery {
  RecoveryReport report;
  // Commits have been given places up to this one, in all lives of the heap;
  // those behind the report's last_sequence are rolled back.
  uint64_t given = 0;
  // Objects of the report's that are lost, and which column of which slot goes
  // on saying so.
  struct Lost {
    ObjectId id = kNullObject;
    size_t slot = 0;
    size_t column = 0;
  };
  std::vector<Lost> lost;
};

// Repairs lines of sealed matrices, rolls back what is not committed
// physically, all durably, and leaves no matrix and an empty log. The heap is
// not loaded yet. Repeating it after a crash on the way has the same result.
// kDataLoss: log or matrices are damaged; nothing was stored then.
absl::StatusOr<ArchaptRecovery> RecoverArchapt(Heap* heap, UndoRing* ring,
                                               MatrixTable* table);

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_ARCHAPT_RECOVERY_H_
