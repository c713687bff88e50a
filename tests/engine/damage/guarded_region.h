// Memory between guard pages: touching a byte outside is a fault.
#ifndef KAMINO_TESTS_ENGINE_DAMAGE_GUARDED_REGION_H_
#define KAMINO_TESTS_ENGINE_DAMAGE_GUARDED_REGION_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstring>

#include "engine/pmem/region.h"
#include "engine/pmem/sim_region.h"
#include "glog/logging.h"

namespace kamino::engine::damage {

class GuardedRegion final : public Region {
 public:
  explicit GuardedRegion(size_t most) : most_(most) {
    void* memory = mmap(nullptr, most + 2 * kGuard, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    base_ = static_cast<std::byte*>(memory) + kGuard;
    CHECK_EQ(mprotect(base_, most, PROT_READ | PROT_WRITE), 0);
  }
  ~GuardedRegion() override { munmap(base_ - kGuard, most_ + 2 * kGuard); }
  GuardedRegion(const GuardedRegion&) = delete;
  GuardedRegion& operator=(const GuardedRegion&) = delete;

  // Loads at most `most` bytes; those beyond its last page are out of bounds.
  void Load(const SimRegion::Image& image) {
    CHECK_LE(image.size(), most_);
    size_ = image.size();
    const size_t pages = (size_ + kPage - 1) / kPage * kPage;
    CHECK_EQ(mprotect(base_, most_, PROT_READ | PROT_WRITE), 0);
    std::memcpy(base_, image.data(), size_);
    if (pages < most_) {
      CHECK_EQ(mprotect(base_ + pages, most_ - pages, PROT_NONE), 0);
    }
  }

  std::byte* base() const override { return base_; }
  size_t size() const override { return size_; }
  void Flush(const void* data, size_t length) override {
    CHECK(length == 0 || Holds(data, length)) << "flush outside the region";
  }
  void Drain() override {}
  void CopyFlush(void* destination, const void* source,
                 size_t length) override {
    CHECK(length == 0 || Holds(destination, length)) << "copy outside";
    std::memcpy(destination, source, length);
  }

  bool Holds(const void* data, size_t length) const {
    const size_t at = static_cast<const std::byte*>(data) - base_;
    return at < size_ && length <= size_ - at;
  }

 private:
  static constexpr size_t kPage = 4096;
  static constexpr size_t kGuard = 64u << 20;

  const size_t most_;
  std::byte* base_ = nullptr;
  size_t size_ = 0;
};

}  // namespace kamino::engine::damage

#endif  // KAMINO_TESTS_ENGINE_DAMAGE_GUARDED_REGION_H_
