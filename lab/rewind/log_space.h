// The free units of the log, in volatile memory. After a recovery, which leaves
// nothing in the log, all are free.
#ifndef KAMINO_LAB_REWIND_LOG_SPACE_H_
#define KAMINO_LAB_REWIND_LOG_SPACE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace kamino::engine {

// Not thread-safe.
class LogSpace {
 public:
  // Manages [begin, end) of the region, multiples of a unit.
  LogSpace(uint64_t begin, uint64_t end);

  // Where so many units lie in one piece; nothing: nowhere.
  std::optional<uint64_t> Take(size_t units);
  // Returns the units of one Take.
  void Give(uint64_t offset, size_t units);

  // Whether all of it lies in here, and begins with a unit.
  bool Contains(uint64_t offset, size_t bytes) const;

  // Units, free or not.
  size_t size() const;
  size_t free() const { return free_; }

 private:
  // Pieces of so many units at most are kept as they are.
  static constexpr size_t kSmall = 16;

  void Insert(uint64_t offset, size_t units);
  // Cuts from the smallest extent that has this many units.
  std::optional<uint64_t> Carve(size_t units);
  void AddExtent(uint64_t offset, size_t units);
  std::map<uint64_t, size_t>::iterator RemoveExtent(
      std::map<uint64_t, size_t>::iterator extent);

  const uint64_t begin_;
  const uint64_t end_;
  std::map<uint64_t, size_t> extents_;  // units
  // The same, by units and offset: the space is in thousands of pieces when
  // records of several sizes come and go.
  std::set<std::pair<size_t, uint64_t>> by_size_;
  std::array<std::vector<uint64_t>, kSmall + 1> ready_;
  size_t free_ = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_LOG_SPACE_H_
