#include "engine/pmem/tracked_region.h"

#include <algorithm>

#include "glog/logging.h"

namespace kamino::engine {

void TrackedRegion::StartTracking(size_t begin) {
  CHECK(!tracking_);
  first_page_ = begin / kPageBytes;
  dirty_.assign((pages() + 63) / 64, 0);
  dirty_count_ = 0;
  tracking_ = true;
}

void TrackedRegion::StopTracking() {
  tracking_ = false;
  dirty_.clear();
  dirty_.shrink_to_fit();
  dirty_count_ = 0;
}

void TrackedRegion::Mark(const void* data, size_t length) {
  if (length == 0) return;
  const size_t begin =
      static_cast<size_t>(static_cast<const std::byte*>(data) - base());
  const size_t last = (begin + length - 1) / kPageBytes;
  for (size_t page = std::max(begin / kPageBytes, first_page_); page <= last;
       ++page) {
    const uint64_t bit = uint64_t{1} << page % 64;
    dirty_count_ += (dirty_[page / 64] & bit) == 0;
    dirty_[page / 64] |= bit;
  }
}

size_t TrackedRegion::TakeDirty(size_t page) {
  for (size_t word = page / 64; word < dirty_.size(); ++word) {
    uint64_t bits = dirty_[word];
    if (word == page / 64) bits &= ~uint64_t{0} << page % 64;
    if (bits == 0) continue;
    const size_t found = word * 64 + static_cast<size_t>(__builtin_ctzll(bits));
    dirty_[word] &= ~(uint64_t{1} << found % 64);
    --dirty_count_;
    return found;
  }
  return pages();
}

}  // namespace kamino::engine
