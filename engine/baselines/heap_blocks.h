// What schemes on kamino's heap do alike, whatever makes them atomic.
#ifndef KAMINO_ENGINE_BASELINES_HEAP_BLOCKS_H_
#define KAMINO_ENGINE_BASELINES_HEAP_BLOCKS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "engine/transaction.h"

namespace kamino::engine {

// A block of at least that many bytes, reserved and zeroed. It is free on media
// until a commit, so no log has to cover what it holds. A ResourceError: the
// heap is full.
absl::StatusOr<ObjectId> ReserveZeroed(Heap& heap, uint32_t size);

// Seeds the checksums of a log, so that no other heap's record has the same.
uint64_t SeedOf(const HeapUuid& uuid);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_HEAP_BLOCKS_H_
