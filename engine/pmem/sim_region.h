// The crash simulator: a region that knows what of its content is durable.
//
// Beside the live bytes it keeps the durable ones. Flush picks lines up as they
// are at that moment, Drain makes them durable. At a crash every line that was
// stored to and is not durable survives or not, as it is now or as it was at
// its last Flush, and within a line every aligned word of 8 bytes by itself, as
// a seed decides (Region's invariants 1 and 2).
#ifndef KAMINO_ENGINE_PMEM_SIM_REGION_H_
#define KAMINO_ENGINE_PMEM_SIM_REGION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/pmem/region.h"

namespace kamino::engine {

// Not thread-safe: all threads' flushes count as one thread's.
class SimRegion final : public Region {
 public:
  using Image = std::vector<std::byte>;

  explicit SimRegion(size_t size);  // zeroed, a multiple of 64
  explicit SimRegion(const Image& image);
  ~SimRegion() override;
  SimRegion(const SimRegion&) = delete;
  SimRegion& operator=(const SimRegion&) = delete;

  std::byte* base() const override { return live_; }
  size_t size() const override { return size_; }
  void Flush(const void* data, size_t length) override;
  void Drain() override;
  void CopyFlush(void* destination, const void* source, size_t length) override;

  // What a crash now would leave.
  Image CrashImage(uint64_t seed) const;

  // Called at the beginning of every Drain, before anything becomes durable:
  // the moment at which most is at stake.
  void SetDrainHook(std::function<void()> hook) { hook_ = std::move(hook); }

  uint64_t drains() const { return drains_; }

 private:
  const size_t size_;
  std::byte* const live_;
  Image durable_;
  std::map<size_t, std::array<std::byte, 64>> flushed_;  // by line offset
  std::function<void()> hook_;
  uint64_t drains_ = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_SIM_REGION_H_
