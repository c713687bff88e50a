// The blocks that rolled-back entries allocate or free. Private to LocalUndo.
#ifndef KAMINO_REPLICA_STATE_INTERRUPTED_BLOCKS_H_
#define KAMINO_REPLICA_STATE_INTERRUPTED_BLOCKS_H_

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "replica/log/log_ring.h"

namespace kamino::replica {

// By id, as they were before all of those entries.
struct BlockBefore {
  uint32_t capacity = 0;  // of the payload, in bytes
  bool allocated = false;
};
using InterruptedBlocks = std::map<engine::ObjectId, BlockBefore>;

// Those of all entries that the ring does not mark applied.
absl::StatusOr<InterruptedBlocks> InterruptedBlocksOf(const LogRing& ring);

// Restores their state, durably, and loads the heap. Blocks of entries that
// were not executed have that state already. kDataLoss: the heap is damaged.
absl::Status RestoreBlocks(const InterruptedBlocks& blocks, engine::Heap* heap);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_INTERRUPTED_BLOCKS_H_
