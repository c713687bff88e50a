// Space for a new object, as all schemes on kamino's heap take it.
#ifndef KAMINO_ENGINE_BASELINES_ZEROED_BLOCK_H_
#define KAMINO_ENGINE_BASELINES_ZEROED_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "engine/resource_error.h"

namespace kamino::engine {

struct ZeroedBlock {
  ObjectId id = kNullObject;
  absl::Span<std::byte> bytes;  // the payload, zeroed
};

// Reserves it. Free on media until the commit, so no log has to cover its
// content. Where the heap is full, `make_room` is called once, to give back
// what it can, and says whether it is worth another try.
// kResourceExhausted (kHeap): none.
inline absl::StatusOr<ZeroedBlock> ReserveZeroed(
    Heap* heap, uint32_t size, absl::FunctionRef<bool()> make_room) {
  auto id = heap->Reserve(size);
  if (absl::IsResourceExhausted(id.status()) && make_room()) {
    id = heap->Reserve(size);
  }
  if (absl::IsResourceExhausted(id.status())) {
    return ResourceError(Resource::kHeap, id.status().message());
  }
  if (!id.ok()) return id.status();
  const absl::Span<std::byte> bytes = heap->BlockPayload(*id);
  std::memset(bytes.data(), 0, bytes.size());
  return ZeroedBlock{*id, bytes};
}

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_ZEROED_BLOCK_H_
