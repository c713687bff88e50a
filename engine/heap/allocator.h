// Which space of a heap is free: volatile, by address and by size.
//
// Free neighbours are one extent here even when media still shows them as
// several blocks; headers on media are rewritten only when space is taken, in
// an order that keeps blocks tiling the object area at every instant.
#ifndef KAMINO_ENGINE_HEAP_ALLOCATOR_H_
#define KAMINO_ENGINE_HEAP_ALLOCATOR_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "engine/heap/heap_format.h"
#include "engine/pmem/region.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Thread-safe.
class Allocator {
 public:
  // Of the blocks in [begin, end), bytes from the region's start.
  Allocator(Region* region, uint64_t begin, uint64_t end)
      : region_(region), begin_(begin), end_(end) {}

  // Finds the free blocks by walking all headers. kDataLoss: no tiling.
  absl::Status Walk();

  // The smallest extent that suffices, the lowest of those; its rest stays
  // free. The block's header says free, durably. kResourceExhausted.
  absl::StatusOr<ObjectId> Take(uint64_t units);

  // Exactly that space. kDataLoss: not all of it is free.
  absl::Status TakeAt(ObjectId id, uint64_t units);

  // Gives a taken block back.
  void Give(ObjectId id, uint64_t units);

  uint64_t free_bytes() const;
  uint64_t blocks_taken() const;

 private:
  heap_format::BlockHeader* HeaderAt(ObjectId id) const;
  // Makes a free block's header durable.
  void WriteFree(ObjectId id, uint64_t units);
  void Insert(ObjectId id, uint64_t units)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Erase(std::map<ObjectId, uint64_t>::iterator extent)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes [id, id + units) out of `extent`, which contains it.
  void Carve(std::map<ObjectId, uint64_t>::iterator extent, ObjectId id,
             uint64_t units) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Region* const region_;
  const uint64_t begin_;
  const uint64_t end_;

  mutable absl::Mutex mutex_;
  std::map<ObjectId, uint64_t> by_address_ ABSL_GUARDED_BY(mutex_);  // units
  std::set<std::pair<uint64_t, ObjectId>> by_size_ ABSL_GUARDED_BY(mutex_);
  uint64_t free_units_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_HEAP_ALLOCATOR_H_
