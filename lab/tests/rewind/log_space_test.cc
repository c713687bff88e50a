#include "lab/rewind/log_space.h"

#include <map>
#include <optional>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

constexpr uint64_t kUnit = 64;

TEST(LogSpaceTest, TakesAllSpaceAndNoMore) {
  LogSpace space(4096, 4096 + 10 * kUnit);
  EXPECT_EQ(space.size(), 10u);
  EXPECT_FALSE(space.Take(11).has_value());
  const auto all = space.Take(10);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(*all, 4096u);
  EXPECT_EQ(space.free(), 0u);
  EXPECT_FALSE(space.Take(1).has_value());
  space.Give(*all, 10);
  EXPECT_EQ(space.free(), 10u);
}

TEST(LogSpaceTest, ReturnedPiecesAreMerged) {
  LogSpace space(0, 40 * kUnit);
  std::vector<uint64_t> units;
  for (int i = 0; i < 40; ++i) units.push_back(*space.Take(1));
  for (uint64_t unit : units) space.Give(unit, 1);
  EXPECT_TRUE(space.Take(40).has_value());
}

// Every other piece of that many units is free, and so is a tail.
LogSpace SpaceWithHoles(size_t holes, size_t units, size_t tail) {
  LogSpace space(0, (2 * holes * units + tail) * kUnit);
  std::vector<uint64_t> pieces;
  for (size_t i = 0; i < 2 * holes; ++i) pieces.push_back(*space.Take(units));
  for (size_t i = 0; i < pieces.size(); i += 2) space.Give(pieces[i], units);
  return space;
}

TEST(LogSpaceTest, TakesTheSmallestFittingPiece) {
  LogSpace space = SpaceWithHoles(/*holes=*/3, /*units=*/20, /*tail=*/18);
  EXPECT_EQ(*space.Take(17), 6 * 20 * kUnit);
  EXPECT_EQ(*space.Take(17), 0u);
}

// A walk over all pieces would exceed this test's time limit.
TEST(LogSpaceTest, ManyPiecesAreSearchedFast) {
  constexpr size_t kHoles = 200'000;
  LogSpace space = SpaceWithHoles(kHoles, /*units=*/17, /*tail=*/18 * kHoles);
  for (size_t i = 0; i < kHoles; ++i) ASSERT_TRUE(space.Take(18).has_value());
  EXPECT_FALSE(space.Take(18).has_value());
}

TEST(LogSpaceTest, ContainsOnlyRangesWithinIt) {
  const LogSpace space(4096, 4096 + 10 * kUnit);
  EXPECT_TRUE(space.Contains(4096, 10 * kUnit));
  EXPECT_TRUE(space.Contains(4096 + 9 * kUnit, kUnit));
  EXPECT_FALSE(space.Contains(4096 + 9 * kUnit, kUnit + 1));
  EXPECT_FALSE(space.Contains(4096 + 10 * kUnit, 1));
  EXPECT_FALSE(space.Contains(4096 - kUnit, kUnit));
  EXPECT_FALSE(space.Contains(4096 + 8, 8));
  EXPECT_FALSE(space.Contains(~uint64_t{63}, kUnit));
}

TEST(LogSpaceTest, NoUnitIsTakenTwice) {
  constexpr size_t kUnits = 500;
  LogSpace space(0, kUnits * kUnit);
  std::mt19937_64 random(1);
  std::map<uint64_t, size_t> taken;
  size_t sum = 0;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0) {
      const size_t units = 1 + random() % 40;
      const auto offset = space.Take(units);
      if (!offset.has_value()) continue;
      const auto next = taken.lower_bound(*offset);
      ASSERT_TRUE(next == taken.end() ||
                  *offset + units * kUnit <= next->first);
      if (next != taken.begin()) {
        const auto before = std::prev(next);
        ASSERT_LE(before->first + before->second * kUnit, *offset);
      }
      ASSERT_LE(*offset + units * kUnit, kUnits * kUnit);
      taken[*offset] = units;
      sum += units;
    } else if (!taken.empty()) {
      const auto one = std::next(taken.begin(), random() % taken.size());
      space.Give(one->first, one->second);
      sum -= one->second;
      taken.erase(one);
    }
    ASSERT_EQ(space.free(), kUnits - sum);
  }
}

}  // namespace
}  // namespace kamino::engine
