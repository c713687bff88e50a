// The blocks that entries which are taken back allocate or free. Private to
// LocalUndo.
#ifndef KAMINO_REPLICA_INTERRUPTED_BLOCKS_H_
#define KAMINO_REPLICA_INTERRUPTED_BLOCKS_H_

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "replica/log_ring.h"

namespace kamino::replica {

// By id, as they were before all of those entries.
struct BlockBefore {
  uint32_t capacity = 0;  // of the payload, in bytes
  bool allocated = false;
};
using InterruptedBlocks = std::map<engine::ObjectId, BlockBefore>;

// Of all that the ring does not say is applied.
absl::StatusOr<InterruptedBlocks> InterruptedBlocksOf(const LogRing& ring);

// Gives them the state they had, durably, and loads the heap; those of an entry
// that was not executed have it. kDataLoss: the heap is damaged.
absl::Status RestoreBlocks(const InterruptedBlocks& blocks, engine::Heap* heap);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_INTERRUPTED_BLOCKS_H_
