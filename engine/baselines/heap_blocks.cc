#include "engine/baselines/heap_blocks.h"

#include <cstring>

#include "engine/resource_error.h"

namespace kamino::engine {

absl::StatusOr<ObjectId> ReserveZeroed(Heap& heap, uint32_t size) {
  auto id = heap.Reserve(size);
  if (absl::IsResourceExhausted(id.status())) {
    return ResourceError(Resource::kHeap, id.status().message());
  }
  if (!id.ok()) return id;
  const absl::Span<std::byte> bytes = heap.BlockPayload(*id);
  std::memset(bytes.data(), 0, bytes.size());
  return id;
}

uint64_t SeedOf(const HeapUuid& uuid) {
  uint64_t halves[2];
  std::memcpy(halves, uuid.data(), sizeof(halves));
  return halves[0] ^ halves[1];
}

}  // namespace kamino::engine
