// Memory whose stores are durable at once, for any number of threads: for users
// that do not simulate crashes.
#ifndef KAMINO_ENGINE_PMEM_PLAIN_REGION_H_
#define KAMINO_ENGINE_PMEM_PLAIN_REGION_H_

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "engine/pmem/region.h"
#include "glog/logging.h"

namespace kamino::engine {

// Initially undefined.
class PlainRegion final : public Region {
 public:
  explicit PlainRegion(size_t size) : size_(size) {
    void* memory = nullptr;
    CHECK_EQ(posix_memalign(&memory, 4096, size), 0);
    base_ = static_cast<std::byte*>(memory);
  }
  ~PlainRegion() override { std::free(base_); }
  PlainRegion(const PlainRegion&) = delete;
  PlainRegion& operator=(const PlainRegion&) = delete;

  std::byte* base() const override { return base_; }
  size_t size() const override { return size_; }
  void Flush(const void*, size_t) override {}
  void Drain() override {}
  void CopyFlush(void* destination, const void* source,
                 size_t length) override {
    std::memcpy(destination, source, length);
  }

 private:
  const size_t size_;
  std::byte* base_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_PLAIN_REGION_H_
