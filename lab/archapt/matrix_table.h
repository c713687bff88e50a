// Where matrices are on the medium: a slot each in the log area, which names a
// block of the heap that its sums lie in. The block is free on media and
// reserved in DRAM: no matrix outlives a recovery.
#ifndef KAMINO_LAB_ARCHAPT_MATRIX_TABLE_H_
#define KAMINO_LAB_ARCHAPT_MATRIX_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "lab/archapt/archapt_format.h"
#include "lab/archapt/matrix.h"

namespace kamino::engine {

// Not thread-safe for one slot.
class MatrixTable {
 public:
  // Slots from this offset of the region on. Not `checked`: nothing is written,
  // neither sums nor what describes them, so that nothing is to be read.
  MatrixTable(Heap* heap, uint64_t begin, size_t slots, uint64_t seed,
              bool checked = true)
      : heap_(heap),
        begin_(begin),
        slots_(slots),
        seed_(seed),
        checked_(checked) {}

  size_t slots() const { return slots_; }

  // Makes all slots of an unused log empty, durably. Before that the log cannot
  // be read. kDataLoss: the log was used.
  absl::Status Format();

  // Fills in a slot that has nothing, and the sums, which lie at `block`;
  // flushed. The objects must not change from here on.
  void Write(size_t slot, const Matrix& matrix, ObjectId block);
  // Once that is durable: from the next Drain on it counts.
  void Seal(size_t slot, uint64_t number);
  // From the next Drain on the matrix does not count.
  void Clear(size_t slot);
  // The columns whose bits are set are lost, the others right; with none lost
  // the slot is cleared. From the next Drain on.
  void SetLost(size_t slot, uint64_t lost);

  // --- Recovery.

  struct Found {
    size_t slot = 0;
    Matrix matrix;
    const std::byte* sums = nullptr;  // null: some are lost, nothing is to do
    uint64_t lost = 0;
  };
  // Those that count. kDataLoss: damaged.
  absl::StatusOr<std::vector<Found>> Read() const;
  uint64_t seed() const { return seed_; }

 private:
  archapt_format::SlotHeader* At(size_t slot) const;
  uint64_t SeedAt(size_t slot) const {
    return seed_ ^ (begin_ + slot * archapt_format::kSlotBytes);
  }
  uint64_t CheckOf(size_t slot, uint64_t number) const;
  void Store(uint64_t* word, uint64_t value);
  absl::StatusOr<Found> ReadSlot(size_t slot, uint64_t number,
                                 uint64_t lost) const;

  Heap* const heap_;
  const uint64_t begin_;
  const size_t slots_;
  const uint64_t seed_;
  const bool checked_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_MATRIX_TABLE_H_
