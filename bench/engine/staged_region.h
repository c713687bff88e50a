// A region that does only a part of what it is told to: what is left out is
// what it costs. What was stored is then not durable, or not even stored.
#ifndef KAMINO_BENCH_ENGINE_STAGED_REGION_H_
#define KAMINO_BENCH_ENGINE_STAGED_REGION_H_

#include <array>
#include <cstddef>

#include "engine/pmem/region.h"

namespace kamino::bench {

// Thread-safe as the region below, which must outlive it; at first everything
// is done.
class StagedRegion final : public engine::Region {
 public:
  enum class Does {
    kNothing,
    // Drains, each with a single line to be waited for, which is not in the
    // region: the least that a drain which is needed can cost.
    kDrains,
    kAll,
  };

  explicit StagedRegion(engine::Region* below) : below_(below) {}

  // No thread may be in a call.
  void Do(Does does) { does_ = does; }

  std::byte* base() const override { return below_->base(); }
  size_t size() const override { return below_->size(); }
  bool DrainsAll() const override { return below_->DrainsAll(); }

  void Flush(const void* data, size_t length) override {
    if (does_ == Does::kAll) below_->Flush(data, length);
  }
  void Drain() override {
    if (does_ == Does::kNothing) return;
    if (does_ == Does::kDrains) {
      alignas(64) thread_local std::array<std::byte, 64> line;
      below_->CopyFlush(line.data(), kZeros.data(), line.size());
    }
    below_->Drain();
  }
  void CopyFlush(void* destination, const void* source,
                 size_t length) override {
    if (does_ == Does::kAll) below_->CopyFlush(destination, source, length);
  }

 private:
  static constexpr std::array<std::byte, 64> kZeros{};

  engine::Region* const below_;
  Does does_ = Does::kAll;
};

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_STAGED_REGION_H_
