#include "engine/pmem/sim_region.h"

#include <cstring>
#include <set>
#include <utility>

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

// A file on a disk.
TEST(SimRegionTest, ASyncMakesThePresentPageContentDurable) {
  SimRegion region(2 * kBytes);
  region.SyncPages();
  region.base()[100] = std::byte{1};
  region.Flush(region.base() + 100, 1);
  region.base()[100] = std::byte{2};
  region.base()[kBytes - 1] = std::byte{3};  // it is not flushed
  region.base()[kBytes + 5] = std::byte{4};
  EXPECT_EQ(Possible(region, 100), (std::set<int>{0, 2}));
  EXPECT_EQ(region.syncs(), 0u);
  region.ActAs(1);  // another thread's drain serves as well
  region.Drain();
  region.Drain();
  EXPECT_EQ(region.syncs(), 1u);
  EXPECT_EQ(Possible(region, 100), (std::set<int>{2}));
  EXPECT_EQ(Possible(region, kBytes - 1), (std::set<int>{3}));
  EXPECT_EQ(Possible(region, kBytes + 5), (std::set<int>{0, 4}));
}

TEST(SimRegionTest, APageMayBeWrittenBackBeforeASync) {
  SimRegion region(2 * kBytes);
  region.SyncPages();
  region.base()[7] = std::byte{1};
  region.base()[kBytes + 7] = std::byte{1};
  region.WritePageBack(0);
  region.base()[7] = std::byte{2};
  EXPECT_EQ(Possible(region, 7), (std::set<int>{1, 2}));
  EXPECT_EQ(Possible(region, kBytes + 7), (std::set<int>{0, 1}));
  region.Drain();
  EXPECT_EQ(Possible(region, 7), (std::set<int>{1, 2}));
}

TEST(SimRegionTest, AStoreAfterItsFlushIsNotDurable) {
  SimRegion region(kBytes);
  region.base()[100] = std::byte{1};
  region.Flush(region.base() + 100, 1);
  region.base()[100] = std::byte{2};
  region.Drain();
  EXPECT_EQ(Possible(region, 100), (std::set<int>{1, 2}));
}

TEST(SimRegionTest, ALineMaySurviveAsItWasFlushed) {
  SimRegion region(kBytes);
  region.base()[100] = std::byte{1};
  region.Flush(region.base() + 100, 1);
  region.base()[100] = std::byte{2};
  EXPECT_EQ(Possible(region, 100), (std::set<int>{0, 1, 2}));
}

TEST(SimRegionTest, LinesSurviveIndependently) {
  SimRegion region(kBytes);
  region.base()[0] = std::byte{1};
  region.base()[64] = std::byte{1};
  std::set<std::pair<int, int>> seen;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const auto image = region.CrashImage(seed);
    seen.emplace(static_cast<int>(image[0]), static_cast<int>(image[64]));
  }
  EXPECT_EQ(seen.size(), 4u);
}

TEST(SimRegionTest, ASeedDeterminesTheImage) {
  SimRegion region(kBytes);
  for (size_t i = 0; i < kBytes; ++i) region.base()[i] = std::byte{7};
  EXPECT_EQ(region.CrashImage(3), region.CrashImage(3));
  EXPECT_NE(region.CrashImage(3), region.CrashImage(4));
}

// All content of a region made from a crash image is durable.
TEST(SimRegionTest, ARegionOpensFromACrashImage) {
  SimRegion region(kBytes);
  const char text[] = "kept";
  region.CopyFlush(region.base() + 200, text, sizeof(text));
  region.Drain();
  SimRegion after(region.CrashImage(1));
  EXPECT_EQ(std::memcmp(after.base() + 200, text, sizeof(text)), 0);
  EXPECT_EQ(after.CrashImage(2), region.CrashImage(3));
  EXPECT_EQ(region.drains(), 1u);
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

TEST(SimRegionTest, ADrainCoversOnlyItsThreadsFlushes) {
  SimRegion region(kBytes);
  region.ActAs(1);
  region.base()[0] = std::byte{1};
  region.Flush(region.base(), 1);
  region.ActAs(2);
  region.Drain();
  EXPECT_EQ(Possible(region, 0), (std::set<int>{0, 1}));
  region.ActAs(1);
  region.Drain();
  EXPECT_EQ(Possible(region, 0), (std::set<int>{1}));
}

TEST(SimRegionTest, AnUnflushedStoreStaysAtRisk) {
  SimRegion region(kBytes);
  region.base()[100] = std::byte{1};
  region.Persist(region.base() + 200, 1);
  region.Drain();
  ASSERT_EQ(region.LinesAtRisk().size(), 1u);
  EXPECT_EQ(region.LinesAtRisk()[0].offset, 64u);
}

TEST(SimRegionTest, TheDrainHookRunsBeforeTheDrain) {
  SimRegion region(kBytes);
  std::set<int> seen;
  region.SetDrainHook([&] { seen = Possible(region, 7); });
  region.base()[7] = std::byte{1};
  region.Persist(region.base() + 7, 1);
  EXPECT_EQ(seen, (std::set<int>{0, 1}));
}

}  // namespace
}  // namespace kamino::engine
