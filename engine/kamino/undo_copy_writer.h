// Brings the changes of committed transactions into the undo copy, and the
// states of their blocks into the heap. Private to the store.
//
// Thread-safe, as far as each transaction is one thread's; its locks are held.
#ifndef KAMINO_ENGINE_KAMINO_UNDO_COPY_WRITER_H_
#define KAMINO_ENGINE_KAMINO_UNDO_COPY_WRITER_H_

#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "engine/kamino/sticky_intents.h"
#include "engine/kamino/transaction_state.h"
#include "engine/kamino/undo_copy.h"
#include "engine/pmem/region_writer.h"

namespace kamino::engine {

class UndoCopyWriter {
 public:
  // All outlive this.
  UndoCopyWriter(Heap* heap, UndoCopy* undo_copy, StickyIntents* sticky)
      : heap_(heap),
        undo_copy_(undo_copy),
        sticky_(sticky),
        objects_(heap->region()),
        copies_(undo_copy->region()),
        pins_(!undo_copy->is_mirror()),
        one_drain_(heap->region()->DrainsAll() &&
                   undo_copy->region()->DrainsAll()) {}

  // Stores the states of blocks, visible to all.
  void MarkBlocks(const TransactionState& state);

  // Stores and flushes everything that must be durable before the locks are
  // released, in two steps: first the part that takes locks, then plain stores.
  // False: there was nothing.
  bool Prepare(TransactionState* state);
  void Copy(const TransactionState& state);
  // Makes this thread's flushes in either or both durable.
  void Drain(bool undo_copy, bool heap) {
    if (undo_copy && !(heap && one_drain_)) copies_.Drain();
    if (heap) objects_.Drain();
  }
  // The heap's region.
  const RegionWriter& objects() const { return objects_; }

  // The undo copy durably has the transaction's changes.
  void Finish(const TransactionState& state);
  // The transaction changed nothing.
  void Unpin(const TransactionState& state);

  // Before the undo copy evicts the copies of these objects: no intent may be
  // left that needs them.
  void ClearIntents(absl::Span<const ObjectId> victims);

 private:
  Heap* const heap_;
  UndoCopy* const undo_copy_;
  StickyIntents* const sticky_;
  const RegionWriter objects_;
  const RegionWriter copies_;
  const bool pins_;       // Unpin has an effect, or is harmless
  const bool one_drain_;  // serves for heap and undo copy
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_UNDO_COPY_WRITER_H_
