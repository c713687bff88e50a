// A RegionWriter stores to a region, flushes and drains, without virtual calls
// where the region allows that.
#ifndef KAMINO_ENGINE_PMEM_REGION_WRITER_H_
#define KAMINO_ENGINE_PMEM_REGION_WRITER_H_

#include <cstddef>

#include "engine/pmem/region.h"

namespace kamino::engine {

// As the region, which must outlive it: calls the region's DirectStores if it
// has any.
class RegionWriter {
 public:
  explicit RegionWriter(Region* region)
      : region_(region), direct_(region->direct()) {}

  Region* region() const { return region_; }

  void CopyFlush(void* destination, const void* source, size_t length) const {
    if (direct_ != nullptr) {
      direct_->copy(destination, source, length);
    } else {
      region_->CopyFlush(destination, source, length);
    }
  }
  void Flush(const void* data, size_t length) const {
    if (direct_ != nullptr) {
      if (length > 0) direct_->flush(data, length);
    } else {
      region_->Flush(data, length);
    }
  }
  void Drain() const {
    if (direct_ != nullptr) {
      direct_->drain();
    } else {
      region_->Drain();
    }
  }

 private:
  Region* const region_;
  const DirectStores* const direct_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_REGION_WRITER_H_
