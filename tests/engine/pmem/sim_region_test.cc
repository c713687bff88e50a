#include "engine/pmem/sim_region.h"

#include <set>

#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

constexpr size_t kBytes = 4096;

// All values that a crash can leave at `offset`.
std::set<int> Possible(const SimRegion& region, size_t offset) {
  std::set<int> values;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    values.insert(static_cast<int>(region.CrashImage(seed)[offset]));
  }
  return values;
}

TEST(SimRegionTest, OnlyDrainMakesDurable) {
  SimRegion region(kBytes);
  region.base()[100] = std::byte{1};
  EXPECT_EQ(Possible(region, 100), (std::set<int>{0, 1}));
  region.Flush(region.base() + 100, 1);
  EXPECT_EQ(Possible(region, 100), (std::set<int>{0, 1}));
  region.Drain();
  EXPECT_EQ(Possible(region, 100), (std::set<int>{1}));
}

TEST(SimRegionTest, AStoreAfterItsFlushIsNotDurable) {
  SimRegion region(kBytes);
  region.base()[100] = std::byte{1};
  region.Flush(region.base() + 100, 1);
  region.base()[100] = std::byte{2};
  region.Drain();
  EXPECT_EQ(Possible(region, 100), (std::set<int>{1, 2}));
}

TEST(SimRegionTest, WordsOfALineTear) {
  SimRegion region(kBytes);
  region.base()[0] = std::byte{1};
  region.base()[8] = std::byte{1};
  bool torn = false;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const auto image = region.CrashImage(seed);
    torn |= image[0] != image[8];
  }
  EXPECT_TRUE(torn);
}

TEST(SimRegionTest, TheHookSeesWhatIsNotDurableYet) {
  SimRegion region(kBytes);
  std::set<int> seen;
  region.SetDrainHook([&] { seen = Possible(region, 7); });
  region.base()[7] = std::byte{1};
  region.Persist(region.base() + 7, 1);
  EXPECT_EQ(seen, (std::set<int>{0, 1}));
}

}  // namespace
}  // namespace kamino::engine
