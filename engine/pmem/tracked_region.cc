#include "engine/pmem/tracked_region.h"

#include <algorithm>

#include "glog/logging.h"

namespace kamino::engine {

void TrackedRegion::StartTracking(size_t begin) {
  CHECK(!tracking_);
  first_page_ = begin / kPageBytes;
  dirty_ = PageSet(pages());
  tracking_ = marks_ = true;
}

void TrackedRegion::StopTracking() {
  tracking_ = false;
  marks_ = changed_ != nullptr;
  dirty_ = PageSet();
}

void TrackedRegion::Collect(PageSet* changed) {
  changed_ = changed;
  marks_ = tracking_ || changed_ != nullptr;
}

void TrackedRegion::Mark(const void* data, size_t length) {
  if (length == 0) return;
  const size_t begin =
      static_cast<size_t>(static_cast<const std::byte*>(data) - base());
  if (changed_ != nullptr) changed_->AddBytes(begin, length);
  if (!tracking_) return;
  const size_t last = (begin + length - 1) / kPageBytes;
  for (size_t page = std::max(begin / kPageBytes, first_page_); page <= last;
       ++page) {
    dirty_.Add(page);
  }
}

size_t TrackedRegion::TakeDirty(size_t page) {
  const size_t found = dirty_.Take(page);
  return found == dirty_.pages() ? pages() : found;
}

void TrackedRegion::AddDirty(const PageSet& pages) {
  CHECK(tracking_);
  for (size_t page = pages.Next(first_page_); page < pages.pages();
       page = pages.Next(page + 1)) {
    dirty_.Add(page);
  }
}

}  // namespace kamino::engine
