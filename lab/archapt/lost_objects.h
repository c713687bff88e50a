// Objects whose bytes are lost for good, until they are freed. The slots of
// their matrices keep the record for the next recovery.
#ifndef KAMINO_LAB_ARCHAPT_LOST_OBJECTS_H_
#define KAMINO_LAB_ARCHAPT_LOST_OBJECTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "engine/explore.h"
#include "engine/transaction.h"
#include "lab/archapt/archapt_recovery.h"
#include "lab/archapt/matrix_table.h"

namespace kamino::engine {

// Thread-safe.
class LostObjects {
 public:
  // Must outlive this.
  explicit LostObjects(MatrixTable* table) : table_(*table) {}

  void Add(const ArchaptRecovery::Lost& lost);
  // Takes no lock while nothing is lost.
  bool Has(ObjectId id) const;
  // Whether that slot says so of one.
  bool IsSaidBy(size_t slot) const;
  // These are freed, durably. Where one of them was lost: stores that it is no
  // more, and returns the slots that are free once that is drained. Nothing:
  // none was.
  std::optional<std::vector<size_t>> Forget(absl::Span<const ObjectId> freed);

 private:
  struct Place {
    size_t slot;
    size_t column;
  };

  MatrixTable& table_;
  mutable Mutex mutex_;
  absl::flat_hash_map<ObjectId, Place> places_ ABSL_GUARDED_BY(mutex_);
  // Lost columns of each slot, as bits.
  absl::flat_hash_map<size_t, uint64_t> columns_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> any_{false};
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_LOST_OBJECTS_H_
