#include "engine/heap/free_extents.h"

#include <iterator>

namespace kamino::engine {

using heap_format::kUnitBytes;

void FreeExtents::Clear() {
  by_address_.clear();
  by_size_.clear();
  whole_units_ = 0;
}

void FreeExtents::Insert(ObjectId id, uint64_t units) {
  auto next = by_address_.lower_bound(id);
  if (next != by_address_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second * kUnitBytes == id) {
      id = previous->first;
      units += previous->second;
      Erase(previous);
    }
  }
  if (next != by_address_.end() && id + units * kUnitBytes == next->first) {
    units += next->second;
    Erase(next);
  }
  by_address_.emplace(id, units);
  by_size_.emplace(units, id);
  whole_units_ += Whole(units);
}

void FreeExtents::Erase(Map::iterator extent) {
  whole_units_ -= Whole(extent->second);
  by_size_.erase({extent->second, extent->first});
  by_address_.erase(extent);
}

FreeExtents::Map::iterator FreeExtents::Fit(uint64_t units) {
  const auto found = by_size_.lower_bound({units, 0});
  return found == by_size_.end() ? by_address_.end()
                                 : by_address_.find(found->second);
}

FreeExtents::Map::iterator FreeExtents::Find(ObjectId id, uint64_t units) {
  auto extent = by_address_.upper_bound(id);
  if (extent == by_address_.begin()) return by_address_.end();
  --extent;
  const uint64_t end = extent->first + extent->second * kUnitBytes;
  const bool contains = id < end && units <= (end - id) / kUnitBytes;
  return contains ? extent : by_address_.end();
}

}  // namespace kamino::engine
