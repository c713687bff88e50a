// Models the lines in a set-associative cache with least-recently-used
// replacement. A simulator decides by it which lines have left the cache before
// a crash.
#ifndef KAMINO_ENGINE_PMEM_CACHE_MODEL_H_
#define KAMINO_ENGINE_PMEM_CACHE_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace kamino::engine {

// Not thread-safe.
class CacheModel {
 public:
  static constexpr size_t kLineBytes = 64;

  // Sets of `ways` lines each, `bytes` in total, rounded down to whole sets; at
  // least one. For example, a Xeon Gold 6126: 19.25 MB, 11 ways.
  CacheModel(uint64_t bytes, size_t ways);

  // The line of that number is loaded or stored to. Returns the line that is
  // evicted for it, if any.
  std::optional<uint64_t> Use(uint64_t line);

  bool Holds(uint64_t line) const;
  size_t sets() const { return sets_.size(); }

 private:
  using Set = std::vector<uint64_t>;  // lines, used last first

  Set& SetOf(uint64_t line) { return sets_[line % sets_.size()]; }

  const size_t ways_;
  std::vector<Set> sets_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_CACHE_MODEL_H_
