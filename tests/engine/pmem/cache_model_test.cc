#include "engine/pmem/cache_model.h"

#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

TEST(CacheModelTest, EvictsTheLeastRecentlyUsedLineOfASet) {
  CacheModel cache(4 * 2 * 64, /*ways=*/2);  // four sets
  ASSERT_EQ(cache.sets(), 4u);
  EXPECT_EQ(cache.Use(0), std::nullopt);
  EXPECT_EQ(cache.Use(4), std::nullopt);
  EXPECT_EQ(cache.Use(1), std::nullopt);  // of another set
  EXPECT_EQ(cache.Use(0), std::nullopt);
  EXPECT_EQ(cache.Use(8), 4u);
  EXPECT_TRUE(cache.Holds(0));
  EXPECT_TRUE(cache.Holds(1));
  EXPECT_FALSE(cache.Holds(4));
  EXPECT_EQ(cache.Use(4), 0u);
}

TEST(CacheModelTest, HoldsAsManyLinesAsItsSize) {
  CacheModel cache(19712u << 10, 11);
  EXPECT_EQ(cache.sets(), 28672u);
  const uint64_t lines = cache.sets() * 11;
  for (uint64_t line = 0; line < lines; ++line) {
    ASSERT_EQ(cache.Use(line), std::nullopt);
  }
  EXPECT_EQ(cache.Use(lines), 0u);
  // Smaller than its ways.
  EXPECT_EQ(CacheModel(64, 11).sets(), 1u);
}

}  // namespace
}  // namespace kamino::engine
