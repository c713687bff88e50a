#include "bench/engine/distribution.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::bench {
namespace {

using ::testing::Each;
using ::testing::Lt;

constexpr uint64_t kDraws = 1'000'000;

std::vector<double> ZipfianProbabilities(uint64_t n, double theta) {
  std::vector<double> probabilities(n);
  double sum = 0;
  for (uint64_t i = 0; i < n; ++i) {
    probabilities[i] = std::pow(static_cast<double>(i + 1), -theta);
    sum += probabilities[i];
  }
  for (double& probability : probabilities) probability /= sum;
  return probabilities;
}

// Distance of each count from its expectation, in standard deviations.
std::vector<double> Deviations(const std::vector<uint64_t>& counts,
                               const std::vector<double>& probabilities) {
  std::vector<double> deviations;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = kDraws * probabilities[i];
    const double deviation =
        std::sqrt(kDraws * probabilities[i] * (1 - probabilities[i]));
    deviations.push_back(std::abs(static_cast<double>(counts[i]) - expected) /
                         deviation);
  }
  return deviations;
}

TEST(ZipfianTest, EveryRankHasItsExactProbability) {
  for (const auto& [n, theta] : std::vector<std::pair<uint64_t, double>>{
           {2, 0.99}, {10, 0.99}, {1000, 0.99}, {100, 0.5}}) {
    const Zipfian zipfian(n, theta);
    Random random(n);
    std::vector<uint64_t> counts(n);
    for (uint64_t i = 0; i < kDraws; ++i) {
      const uint64_t rank = zipfian.Next(random);
      ASSERT_LT(rank, n);
      ++counts[rank];
    }
    EXPECT_THAT(Deviations(counts, ZipfianProbabilities(n, theta)),
                Each(Lt(5.0)))
        << n << ", " << theta;
  }
}

TEST(ZipfianTest, FirstOfAMillionMatchesYcsb) {
  // 1 / (sum of i^-0.99 for i up to 1,000,000).
  const double expected = ZipfianProbabilities(1'000'000, kYcsbTheta)[0];
  const Zipfian zipfian(1'000'000, kYcsbTheta);
  Random random(1);
  double first = 0;
  for (uint64_t i = 0; i < kDraws; ++i) first += zipfian.Next(random) == 0;
  EXPECT_NEAR(first / kDraws, expected, expected / 50);
}

TEST(ZipfianTest, ASingleItemIsAlwaysDrawn) {
  const Zipfian zipfian(1, kYcsbTheta);
  Random random(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(zipfian.Next(random), 0u);
}

TEST(ScrambledTest, PopularItemsAreAtTheirHashes) {
  constexpr uint64_t kThings = 1000;
  const std::vector<double> ranks = ZipfianProbabilities(kThings, kYcsbTheta);
  std::vector<double> probabilities(kThings);
  for (uint64_t i = 0; i < kThings; ++i) {
    probabilities[FnvHash(i) % kThings] += ranks[i];
  }
  const Zipfian zipfian(kThings, kYcsbTheta);
  Random random(7);
  std::vector<uint64_t> counts(kThings);
  for (uint64_t i = 0; i < kDraws; ++i) ++counts[Scrambled(zipfian, random)];
  for (uint64_t i = 0; i < kThings; ++i) {
    if (probabilities[i] == 0) {
      EXPECT_EQ(counts[i], 0u);
      continue;
    }
    const double expected = kDraws * probabilities[i];
    EXPECT_NEAR(static_cast<double>(counts[i]), expected,
                5 * std::sqrt(expected));
  }
}

TEST(LatestTest, TheNewestIsTheMostPopular) {
  const Zipfian zipfian(100, kYcsbTheta);
  const std::vector<double> ranks = ZipfianProbabilities(100, kYcsbTheta);
  Random random(3);
  constexpr uint64_t kCount = 120;
  std::vector<uint64_t> counts(kCount);
  for (uint64_t i = 0; i < kDraws; ++i) {
    ++counts[Latest(zipfian, kCount, random)];
  }
  for (uint64_t i = 0; i < kCount; ++i) {
    const double expected = i < 20 ? 0 : kDraws * ranks[kCount - 1 - i];
    EXPECT_NEAR(static_cast<double>(counts[i]), expected,
                5 * std::sqrt(expected));
  }
}

TEST(RandomTest, IsUniform) {
  Random random(5);
  const std::vector<double> probabilities(37, 1.0 / 37);
  std::vector<uint64_t> counts(37);
  for (uint64_t i = 0; i < kDraws; ++i) ++counts[random.Below(37)];
  EXPECT_THAT(Deviations(counts, probabilities), Each(Lt(5.0)));
}

TEST(RandomTest, BetweenIncludesBothEnds) {
  Random random(5);
  bool low = false, high = false;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t drawn = random.Between(10, 12);
    ASSERT_GE(drawn, 10u);
    ASSERT_LE(drawn, 12u);
    low |= drawn == 10;
    high |= drawn == 12;
  }
  EXPECT_TRUE(low);
  EXPECT_TRUE(high);
}

TEST(RandomTest, TheSameSeedGivesTheSameNumbers) {
  Random a(9), b(9), c(10);
  EXPECT_EQ(a.Next(), b.Next());
  EXPECT_NE(a.Next(), c.Next());
}

TEST(FnvHashTest, IsFnv1aOfEightBytes) {
  // The published offset basis after eight rounds of zero bytes.
  uint64_t expected = 0xcbf29ce484222325ull;
  for (int i = 0; i < 8; ++i) expected *= 0x100000001b3ull;
  EXPECT_EQ(FnvHash(0), expected);
  EXPECT_NE(FnvHash(1), FnvHash(256));
}

}  // namespace
}  // namespace kamino::bench
