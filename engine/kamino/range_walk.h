// Digests of a heap's objects, range by range, while it is in use.
//
// Ranges cut the object area into pieces of equal length; an object belongs to
// the one in which it begins. A digest covers the allocated objects of a range:
// their ids, sizes and bytes. Free space does not count, as nodes of a chain
// cut it into blocks differently.
//
// Only headers tell where blocks begin, so the search for a range starts at an
// earlier one: the last one found, or the heap's start.
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
  // `range_bytes`: size of each but the last; a multiple of 64. The heap must
  // outlive this. One walk per heap: it uses the heap's marks alone.
  RangeWalk(Heap* heap, uint64_t range_bytes);

  uint64_t ranges() const { return ranges_; }
  // The range of an object of that id. Any id is allowed.
  uint64_t RangeOf(ObjectId id) const;

  // Continues the search for the range's start, past at most `most_blocks`.
  // True once it is found.
  bool Reach(uint64_t range, size_t most_blocks);

  // The digest of a range that was reached, with nothing allocated or loaded
  // since. Never 0. At a damaged block header, the digest includes the place.
  uint64_t Digest(uint64_t range);

 private:
  // The block's header, 0 if there is none.
  uint64_t WordAt(ObjectId id) const;
  ObjectId Begin(uint64_t range) const;

  Heap* const heap_;
  const uint64_t range_bytes_;
  const uint64_t ranges_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_RANGE_WALK_H_
