#include "lab/rewind/log_space.h"

#include <iterator>

#include "glog/logging.h"
#include "lab/rewind/rewind_format.h"

namespace kamino::engine {

using rewind_format::kUnitBytes;

LogSpace::LogSpace(uint64_t begin, uint64_t end) : begin_(begin), end_(end) {
  CHECK(begin % kUnitBytes == 0 && end % kUnitBytes == 0 && begin <= end);
  free_ = size();
  if (free_ > 0) AddExtent(begin, free_);
}

size_t LogSpace::size() const { return (end_ - begin_) / kUnitBytes; }

bool LogSpace::Contains(uint64_t offset, size_t bytes) const {
  return offset % kUnitBytes == 0 && offset >= begin_ && offset < end_ &&
         bytes <= end_ - offset;
}

void LogSpace::AddExtent(uint64_t offset, size_t units) {
  extents_[offset] = units;
  by_size_.emplace(units, offset);
}

std::map<uint64_t, size_t>::iterator LogSpace::RemoveExtent(
    std::map<uint64_t, size_t>::iterator extent) {
  by_size_.erase({extent->second, extent->first});
  return extents_.erase(extent);
}

std::optional<uint64_t> LogSpace::Carve(size_t units) {
  const auto found = by_size_.lower_bound({units, 0});
  if (found == by_size_.end()) return std::nullopt;
  const auto [size, offset] = *found;
  RemoveExtent(extents_.find(offset));
  if (size > units) AddExtent(offset + units * kUnitBytes, size - units);
  return offset;
}

std::optional<uint64_t> LogSpace::Take(size_t units) {
  CHECK_GT(units, 0u);
  if (units > free_) return std::nullopt;
  std::optional<uint64_t> taken;
  if (units <= kSmall && !ready_[units].empty()) {
    taken = ready_[units].back();
    ready_[units].pop_back();
  } else {
    taken = Carve(units);
  }
  if (!taken.has_value()) {
    for (size_t size = 1; size <= kSmall; ++size) {
      for (uint64_t offset : ready_[size]) Insert(offset, size);
      ready_[size].clear();
    }
    taken = Carve(units);
  }
  if (taken.has_value()) free_ -= units;
  return taken;
}

void LogSpace::Give(uint64_t offset, size_t units) {
  CHECK(units > 0 && Contains(offset, units * kUnitBytes));
  free_ += units;
  if (units <= kSmall) {
    ready_[units].push_back(offset);
  } else {
    Insert(offset, units);
  }
}

void LogSpace::Insert(uint64_t offset, size_t units) {
  auto next = extents_.lower_bound(offset);
  if (next != extents_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second * kUnitBytes == offset) {
      offset = before->first;
      units += before->second;
      next = RemoveExtent(before);
    }
  }
  if (next != extents_.end() && offset + units * kUnitBytes == next->first) {
    units += next->second;
    RemoveExtent(next);
  }
  AddExtent(offset, units);
}

}  // namespace kamino::engine
