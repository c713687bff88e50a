#include "tests/engine/crash/image_plan.h"

#include <algorithm>
#include <set>

#include "gtest/gtest.h"

namespace kamino::engine::crash {
namespace {

TEST(ImagePlanTest, PlansEveryCombinationOfFewPieces) {
  std::mt19937_64 random(1);
  const auto plans = PlanImages({1, 2, 1}, 64, 10, &random);
  EXPECT_EQ(plans.size(), 2u * 3 * 2);
  EXPECT_EQ(std::set<Picks>(plans.begin(), plans.end()).size(), plans.size());
}

TEST(ImagePlanTest, NothingAtRiskGivesOneImage) {
  std::mt19937_64 random(1);
  EXPECT_EQ(PlanImages({}, 64, 10, &random), std::vector<Picks>{{}});
}

TEST(ImagePlanTest, SamplesManyPieces) {
  std::mt19937_64 random(1);
  const size_t n = 200;
  const auto plans = PlanImages(std::vector<uint8_t>(n, 1), /*exhaustive=*/64,
                                /*most=*/40, &random);
  EXPECT_EQ(plans.size(), 40u);
  std::set<size_t> kept;  // pieces, of an image
  for (const Picks& picks : plans) {
    kept.insert(std::count(picks.begin(), picks.end(), 1));
  }
  for (size_t count : {size_t{0}, size_t{1}, size_t{2}, n - 1, n}) {
    EXPECT_EQ(kept.count(count), 1u) << count;
  }
  EXPECT_EQ(std::set<Picks>(plans.begin(), plans.end()).size(), plans.size());
}

}  // namespace
}  // namespace kamino::engine::crash
