#include "engine/pmem/counting_region.h"

#include <array>
#include <thread>
#include <vector>

#include "engine/pmem/background_work.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

class CountingRegionTest : public ::testing::Test {
 protected:
  CountingRegionTest() : below_(1u << 20), region_(&below_) {}

  SimRegion below_;
  CountingRegion region_;
};

TEST_F(CountingRegionTest, CountsEveryLineThatARangeTouches) {
  region_.Flush(region_.base(), 64);
  EXPECT_EQ(region_.counts().lines, 1u);
  region_.Flush(region_.base() + 63, 2);
  EXPECT_EQ(region_.counts().lines, 3u);
  region_.Flush(region_.base() + 64, 0);
  EXPECT_EQ(region_.counts().lines, 3u);
  const std::array<std::byte, 128> bytes{};
  region_.CopyFlush(region_.base() + 32, bytes.data(), bytes.size());
  EXPECT_EQ(region_.counts().lines, 6u);
  EXPECT_EQ(region_.counts().drains, 0u);
}

TEST_F(CountingRegionTest, CountsDrains) {
  region_.Drain();
  region_.Persist(region_.base(), 8);
  EXPECT_EQ(region_.counts().drains, 2u);
  EXPECT_EQ(region_.counts().lines, 1u);
}

TEST_F(CountingRegionTest, CountsBackgroundWorkApart) {
  region_.Persist(region_.base(), 64);
  {
    const BackgroundWork background;
    region_.Persist(region_.base(), 128);
    std::thread([this] { region_.Drain(); }).join();
  }
  region_.Drain();
  EXPECT_EQ(region_.counts().lines, 3u);
  EXPECT_EQ(region_.counts().drains, 4u);
  EXPECT_EQ(region_.background_counts().lines, 2u);
  EXPECT_EQ(region_.background_counts().drains, 1u);
}

TEST_F(CountingRegionTest, CountsAllThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([this, i] {
      for (int k = 0; k < 100; ++k) {
        region_.Persist(region_.base() + 4096 * i, 64);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(region_.counts().lines, 2000u);
  EXPECT_EQ(region_.counts().drains, 2000u);
}

}  // namespace
}  // namespace kamino::engine
