// The matrices of an Archapt store: those whose sums are being made, those that
// are sealed, and those that are being dissolved; and the slots that are free
// for others. Volatile.
#ifndef KAMINO_LAB_ARCHAPT_LIVE_MATRICES_H_
#define KAMINO_LAB_ARCHAPT_LIVE_MATRICES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "engine/transaction.h"
#include "lab/archapt/pending_table.h"

namespace kamino::engine {

// A matrix of which the sums are being made, or that is sealed.
struct LiveMatrix {
  uint64_t number = 0;
  size_t slot = 0;
  ObjectId block = kNullObject;  // of the sums
  size_t place = 0;              // among all
  std::vector<ObjectEntry*> columns;
  bool dissolving = false;  // one thread is about to; see StartDissolving
};

// Not thread-safe.
class LiveMatrices {
 public:
  explicit LiveMatrices(std::vector<size_t> free_slots)
      : free_slots_(std::move(free_slots)) {}

  // A matrix of these columns, which then refer to it; its sums are to lie at
  // `block`. Null: no slot is free.
  LiveMatrix* Add(ObjectId block, const std::vector<ObjectEntry*>& columns);

  // No other thread dissolves it from now on. It must be sealed.
  void StartDissolving(LiveMatrix* matrix);
  // The same for any that is sealed, and returns it; null: all are dissolved,
  // or about to be.
  LiveMatrix* StartDissolvingOne();
  // It is dissolved, and its slot is free. Destroys it.
  void Remove(LiveMatrix* matrix);
  // The block of the sums of a removed matrix is free again, too.
  void EndDissolving() { --dissolving_; }
  bool any_dissolving() const { return dissolving_ > 0; }

  void AddFreeSlots(absl::Span<const size_t> slots);

  size_t size() const { return matrices_.size(); }

 private:
  std::vector<std::unique_ptr<LiveMatrix>> matrices_;
  std::vector<size_t> free_slots_;
  uint64_t next_number_ = 1;
  size_t dissolving_ = 0;  // between StartDissolving and EndDissolving
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_LIVE_MATRICES_H_
