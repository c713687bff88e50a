// The superblock of a heap (docs/formats/heap.md): makes and checks it. Private
// to the heap.
#ifndef KAMINO_ENGINE_HEAP_SUPERBLOCK_H_
#define KAMINO_ENGINE_HEAP_SUPERBLOCK_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/heap/heap_format.h"
#include "engine/pmem/region.h"

namespace kamino::engine {

inline const heap_format::Superblock& SuperblockOf(const Region& region) {
  return *reinterpret_cast<const heap_format::Superblock*>(region.base());
}

// As Heap::Open's errors.
absl::Status CheckSuperblock(const Region& region);

// Makes the region a heap of one object, the root, durably. kInvalidArgument:
// less than `min_bytes`, or a label that is too long.
absl::Status FormatHeap(Region* region, absl::string_view label,
                        size_t min_bytes, size_t log_bytes);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_HEAP_SUPERBLOCK_H_
