// Makes one heap equal to another page by page: tells which blocks are
// allocated, and cuts the object area anew around the blocks that are to be.
//
// Only while no transaction runs, and before Heap::Load. The heap must outlive
// this.
#ifndef KAMINO_ENGINE_HEAP_HEAP_TILING_H_
#define KAMINO_ENGINE_HEAP_HEAP_TILING_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/heap/block_map.h"
#include "engine/heap/heap.h"
#include "engine/pmem/region.h"
#include "engine/transaction.h"

namespace kamino::engine {

class HeapTiling {
 public:
  explicit HeapTiling(const Heap& heap)
      : region_(heap.region()), begin_(heap.root()), end_(heap.objects_end()) {}

  // The allocated blocks, by the headers. kDataLoss: they do not tile.
  absl::StatusOr<BlockMap> AllocatedBlocks() const;

  // Makes exactly those blocks, whose headers exist, allocated, and everything
  // else free for a walk; durable with the next Drain. kDataLoss: there are no
  // such blocks.
  absl::Status Retile(const BlockMap& allocated);

 private:
  uint64_t WordAt(ObjectId id) const;
  // Makes [from, to) free for a walk.
  void TileFree(ObjectId from, ObjectId to);

  Region* const region_;
  const ObjectId begin_;
  const ObjectId end_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_HEAP_HEAP_TILING_H_
