#include "engine/pmem/cache_model.h"

#include <algorithm>

namespace kamino::engine {

CacheModel::CacheModel(uint64_t bytes, size_t ways)
    : ways_(ways), sets_(std::max<uint64_t>(1, bytes / kLineBytes / ways)) {}

std::optional<uint64_t> CacheModel::Use(uint64_t line) {
  Set& set = SetOf(line);
  const auto found = std::find(set.begin(), set.end(), line);
  if (found != set.end()) {
    std::rotate(set.begin(), found, found + 1);
    return std::nullopt;
  }
  set.insert(set.begin(), line);
  if (set.size() <= ways_) return std::nullopt;
  const uint64_t evicted = set.back();
  set.pop_back();
  return evicted;
}

bool CacheModel::Holds(uint64_t line) const {
  const Set& set = sets_[line % sets_.size()];
  return std::find(set.begin(), set.end(), line) != set.end();
}

}  // namespace kamino::engine
