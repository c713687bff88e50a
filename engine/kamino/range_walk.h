// Digests of what a heap's objects are, range by range, while it is in use.
//
// Ranges cut the object area into pieces of equal length; an object belongs to
// the one that it begins in. A digest is of the objects of a range that are
// allocated: their ids, sizes and bytes. What is free is not looked at, nor how
// it is cut into blocks, as nodes of a chain differ in that.
//
// Headers alone say where blocks begin, so a range is found from one before it:
// from the last one that was looked for, or from the heap's begin.
//
// Not thread-safe; no transaction may be running.
#ifndef KAMINO_ENGINE_KAMINO_RANGE_WALK_H_
#define KAMINO_ENGINE_KAMINO_RANGE_WALK_H_

#include <cstddef>
#include <cstdint>

#include "engine/heap/heap.h"
#include "engine/transaction.h"

namespace kamino::engine {

class RangeWalk {
 public:
  // `range_bytes`: of each but the last; a multiple of 64. The heap must
  // outlive this. One walk a heap: it has the heap's marks for itself.
  RangeWalk(Heap* heap, uint64_t range_bytes);

  uint64_t ranges() const { return ranges_; }
  // Of the range that an object of that id belongs to. Any id may be given.
  uint64_t RangeOf(ObjectId id) const;

  // Gets on with finding where the range begins, past at most `most_blocks`.
  // True once that is found.
  bool Reach(uint64_t range, size_t most_blocks);

  // Of a range that was reached, and nothing was allocated or loaded since.
  // Never 0. Where no block begins as it should, the digest tells where.
  uint64_t Digest(uint64_t range);

 private:
  // The block's header, 0 where there is none.
  uint64_t WordAt(ObjectId id) const;
  ObjectId Begin(uint64_t range) const;

  Heap* const heap_;
  const uint64_t range_bytes_;
  const uint64_t ranges_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_RANGE_WALK_H_
