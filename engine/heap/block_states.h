// The states of a heap's blocks on media: a header's word says whether its
// block is allocated.
//
// Thread-safe, as far as callers do not touch the same block.
#ifndef KAMINO_ENGINE_HEAP_BLOCK_STATES_H_
#define KAMINO_ENGINE_HEAP_BLOCK_STATES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "engine/heap/block_map.h"
#include "engine/pmem/region.h"
#include "engine/transaction.h"

namespace kamino::engine {

class BlockStates {
 public:
  // For the blocks with ids in [begin, end). The region must outlive this.
  BlockStates(Region* region, ObjectId begin, ObjectId end)
      : region_(region), begin_(begin), end_(end) {}

  // Stores the header's state, atomically, and flushes it; durable with the
  // caller's next Drain. Idempotent.
  void MarkAllocated(ObjectId id) {
    Store(id, true);
    Flush(id);
  }
  void MarkFree(ObjectId id) {
    Store(id, false);
    Flush(id);
  }
  // The two steps of that.
  void Store(ObjectId id, bool allocated);
  void Flush(ObjectId id);

  // Recovery, before Heap::Load: makes a block at `id` with that capacity (of
  // an intent) allocated or free. kDataLoss: no block starts there.
  absl::Status Recover(ObjectId id, uint32_t capacity, bool allocated);

  // Records blocks that become allocated or free from here on; null: none. It
  // must outlive that. No transaction may be running.
  void NoteIn(BlockChanges* changes) { changes_ = changes; }

 private:
  Region* const region_;
  const ObjectId begin_;
  const ObjectId end_;
  BlockChanges* changes_ = nullptr;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_HEAP_BLOCK_STATES_H_
