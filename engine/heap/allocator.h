// The free space of a heap: volatile, by address and by size.
//
// Free space is kept in two ways:
//   - extents: maximal runs of free space; one extent may still be several
//     blocks on media;
//   - ready blocks: their header on media is already right, so taking one
//     stores nothing. Cutting a small block from an extent also cuts a slab of
//     equal blocks, for two drains in all; a small block that is given back
//     stays ready. They are few, and become extents when space runs short.
//
// The allocator can keep a reserve: its last free bytes, as far as possible in
// whole extents of an index page or more, which can be cut into blocks of any
// size up to a page. Take uses all other space first, cuts one block at a time
// out of the reserve, and counts these cuts. So the caller can tell that it has
// used the reserve, and give the block back. The reserve is volatile, and no
// other operation observes it.
//
// Invariant: blocks on media tile [begin, end) at every instant. So headers
// change only while their extent is one block on media: the extent is first
// merged to one block, then the headers inside become durable, and only then
// does it shrink.
#ifndef KAMINO_ENGINE_HEAP_ALLOCATOR_H_
#define KAMINO_ENGINE_HEAP_ALLOCATOR_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/explore.h"
#include "engine/heap/free_extents.h"
#include "engine/heap/heap_format.h"
#include "engine/heap/walk_marks.h"
#include "engine/pmem/region.h"
#include "engine/transaction.h"

namespace kamino::engine {

// The block size for an object of `units`, which is at most the largest
// object's, in units. Sixteen classes per doubling: freed blocks fit again, and
// at most 1/16 is wasted.
uint64_t SizeClass(uint64_t units);

// Thread-safe.
class Allocator {
 public:
  // For the blocks in [begin, end), bytes from the region's start.
  Allocator(Region* region, uint64_t begin, uint64_t end)
      : region_(region), begin_(begin), end_(end), marks_(begin) {}

  // Finds the free blocks by walking all headers; forgets taken blocks. Calls
  // `visit` with every block's id and header; resets the marks. kDataLoss: the
  // headers do not tile.
  absl::Status Walk(absl::FunctionRef<void(ObjectId id, uint64_t word)> visit);

  // A block of exactly that size: a ready one, else from the smallest extent
  // that suffices, the lowest of those. Its header says free, durably, until
  // the caller changes it. `may_cut`: cuts it out of the reserve if there is no
  // other space. kResourceExhausted: the heap is full.
  absl::StatusOr<ObjectId> Take(uint64_t units, bool may_cut = true);

  // Takes exactly that space, in the same way. kDataLoss: not all of it is
  // free.
  absl::Status TakeAt(ObjectId id, uint64_t units);

  // Gives a taken block back, whose header says free, durably.
  void Give(ObjectId id, uint64_t units);

  // --- The reserve.

  struct Reserve {
    uint64_t kept = 0;   // its size in units, as KeepReserve set it
    uint64_t whole = 0;  // units of whole extents (FreeExtents)
    uint64_t cuts = 0;   // by Take since the allocator was made
  };
  // Sets the size of the reserve; 0: none. Moves no block: a reserve that the
  // free space does not fill yet fills up as blocks are freed.
  void KeepReserve(uint64_t units);
  Reserve reserve() const;

  // Extents of at least `units` that are one block on media too, in ascending
  // order.
  std::vector<std::pair<ObjectId, uint64_t>> WholeExtents(uint64_t units) const;

  // For a walk that goes on while blocks are taken.
  WalkMarks& marks() { return marks_; }

  uint64_t free_bytes() const;
  uint64_t blocks_taken() const;

 private:
  using Extent = FreeExtents::Map::iterator;

  // A slab is cut at once into blocks of one size, at least two; larger blocks
  // have none.
  static constexpr uint64_t kSlabUnits = (64u << 10) / heap_format::kUnitBytes;
  static constexpr uint64_t kMostSlabUnits = kSlabUnits / 2;

  // One: too large for slabs.
  static constexpr uint64_t BlocksPerSlab(uint64_t units) {
    constexpr uint64_t kMost = 32;
    return units > kMostSlabUnits ? 1 : std::min(kMost, kSlabUnits / units);
  }

  heap_format::BlockHeader* HeaderAt(ObjectId id) const;
  // Stores a free block's header and flushes it.
  void StoreFree(ObjectId id, uint64_t units);

  // Whether taking `units` from an extent of `size` would cut the reserve.
  bool Cuts(uint64_t size, uint64_t units) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // How many blocks to cut at once out of `size` units of free space.
  uint64_t BlocksToCut(uint64_t size, uint64_t units) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Full(uint64_t units) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes [id, id + units) out of `extent`, which contains it, and makes the
  // rest of its slab ready.
  void Carve(Extent extent, ObjectId id, uint64_t units)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False: that block is not ready.
  bool TakeReady(ObjectId id, uint64_t units)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MergeReady() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountTaken(uint64_t units) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Region* const region_;
  const uint64_t begin_;
  const uint64_t end_;
  WalkMarks marks_;

  mutable Mutex mutex_;
  FreeExtents extents_ ABSL_GUARDED_BY(mutex_);
  // By units; the block given back last, whose header is in the cache, is at
  // the end. Nothing here allocates memory for long.
  std::array<std::vector<ObjectId>, kMostSlabUnits + 1> ready_
      ABSL_GUARDED_BY(mutex_);
  uint64_t free_units_ ABSL_GUARDED_BY(mutex_) = 0;  // of both
  uint64_t kept_ ABSL_GUARDED_BY(mutex_) = 0;        // of the reserve
  uint64_t cuts_ ABSL_GUARDED_BY(mutex_) = 0;        // blocks cut from it
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;       // blocks
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_HEAP_ALLOCATOR_H_
