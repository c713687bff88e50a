// The objects that the micro suite and its floor work on, and how their cells
// choose among them.
#ifndef KAMINO_BENCH_ENGINE_MICRO_CELLS_H_
#define KAMINO_BENCH_ENGINE_MICRO_CELLS_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "bench/engine/distribution.h"
#include "bench/engine/workload.h"

namespace kamino::bench {

// Sizes of the objects, in bytes.
inline constexpr std::array<uint32_t, 4> kMicroSizes = {64, 256, 1024, 4096};
inline constexpr uint64_t kHotObjects = 10'000;  // the first

// Cell::what.
enum MicroWhat {
  kOverwriteBytes,
  kOverwritePointer,
  kPatchWithBytes,
  kPatchPointer,
  kAllocLinkFree,
  kEmpty,
  kAbort,
};

// Cell::how.
enum MicroHow { kHot, kLarge, kOneObject, kBursts };

// The number of objects of a size.
inline uint64_t MicroObjects(Scale scale, uint32_t size) {
  switch (scale) {
    case Scale::kFull:
      return std::max<uint64_t>((uint64_t{128} << 20) / (size + 256), 40'000);
    case Scale::kQuick:
      return std::max<uint64_t>((uint64_t{32} << 20) / (size + 256), 20'000);
    case Scale::kCount:
      return kHotObjects;
  }
  return 0;
}

// Draws objects, or places of links: the same for each store.
class MicroPicker {
 public:
  MicroPicker(const Cell& cell, uint64_t seed)
      : how_(static_cast<MicroHow>(cell.how)), random_(seed) {}

  // One of `count`.
  uint64_t Next(uint64_t count) {
    switch (how_) {
      case kHot:
        at_ = random_.Below(std::min(kHotObjects, count));
        break;
      case kLarge:
        at_ = random_.Below(count);
        break;
      case kOneObject:
        at_ = 0;
        break;
      case kBursts:
        if (drawn_ % kBurst == 0) at_ = random_.Below(kHotObjects);
        break;
    }
    ++drawn_;
    return at_;
  }
  // How many were drawn.
  uint64_t drawn() const { return drawn_; }
  Random& random() { return random_; }

 private:
  static constexpr uint64_t kBurst = 8;  // transactions

  const MicroHow how_;
  Random random_;
  uint64_t at_ = 0;
  uint64_t drawn_ = 0;
};

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_MICRO_CELLS_H_
