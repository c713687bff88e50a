// Maximal runs of free space, by address and by size. An extent may be several
// blocks on media. Private to the allocator.
//
// Not thread-safe.
#ifndef KAMINO_ENGINE_HEAP_FREE_EXTENTS_H_
#define KAMINO_ENGINE_HEAP_FREE_EXTENTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "engine/heap/heap_format.h"
#include "engine/transaction.h"

namespace kamino::engine {

class FreeExtents {
 public:
  using Map = std::map<ObjectId, uint64_t>;  // units, by the first block's id

  // The smallest extent that counts as whole: a page of the index.
  static constexpr uint64_t kWholeUnits = 4096 / heap_format::kUnitBytes;
  // An extent's share in whole_units().
  static constexpr uint64_t Whole(uint64_t units) {
    return units < kWholeUnits ? 0 : units;
  }

  void Clear();
  // Adds the space, and merges it with its neighbours.
  void Insert(ObjectId id, uint64_t units);
  void Erase(Map::iterator extent);

  // The smallest extent of `units` or more, the lowest of those; or end().
  Map::iterator Fit(uint64_t units);
  // The extent that contains all of [id, id + units), or end().
  Map::iterator Find(ObjectId id, uint64_t units);

  Map::iterator end() { return by_address_.end(); }
  const Map& by_address() const { return by_address_; }
  // Units of extents of kWholeUnits or more.
  uint64_t whole_units() const { return whole_units_; }

 private:
  Map by_address_;
  std::set<std::pair<uint64_t, ObjectId>> by_size_;
  uint64_t whole_units_ = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_HEAP_FREE_EXTENTS_H_
