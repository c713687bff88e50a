#include "bench/harness/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/engine/distribution.h"
#include "gtest/gtest.h"

namespace kamino::bench {
namespace {

TEST(HistogramTest, SmallNumbersAreExact) {
  Histogram histogram;
  for (uint64_t i = 1; i <= 10; ++i) histogram.Add(i);
  EXPECT_EQ(histogram.count(), 10u);
  EXPECT_EQ(histogram.Quantile(0.5), 5);
  EXPECT_EQ(histogram.Quantile(0.99), 10);
  EXPECT_EQ(histogram.Quantile(0), 1);
  EXPECT_EQ(histogram.Quantile(1), 10);
  EXPECT_EQ(histogram.Mean(), 5.5);
  Histogram more;
  more.Add(26);
  histogram.Merge(more);
  EXPECT_NEAR(histogram.Mean(), 81.0 / 11, 1e-9);
  EXPECT_EQ(Histogram().Mean(), 0);
}

TEST(HistogramTest, AnEmptyHistogramHasQuantileZero) {
  EXPECT_EQ(Histogram().Quantile(0.5), 0);
}

TEST(HistogramTest, QuantilesAreWithinOneIn64OfTheSorted) {
  Random random(1);
  Histogram histogram;
  std::vector<uint64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    // Values of all magnitudes.
    const auto value =
        static_cast<uint64_t>(std::exp(random.Fraction() * 40)) + 1;
    values.push_back(value);
    histogram.Add(value);
  }
  std::sort(values.begin(), values.end());
  for (double quantile : {0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.9999}) {
    const auto exact = static_cast<double>(
        values[static_cast<size_t>(std::ceil(quantile * 100'000)) - 1]);
    EXPECT_NEAR(histogram.Quantile(quantile), exact, exact / 64) << quantile;
  }
}

TEST(HistogramTest, FineQuantilesAreWithinOneIn1024) {
  Random random(2);
  FineHistogram histogram;
  std::vector<uint64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    const auto value =
        static_cast<uint64_t>(std::exp(random.Fraction() * 40)) + 1;
    values.push_back(value);
    histogram.Add(value);
  }
  std::sort(values.begin(), values.end());
  for (double quantile : {0.001, 0.5, 0.99, 0.999, 0.9999, 1.0}) {
    const auto exact = static_cast<double>(
        values[static_cast<size_t>(std::ceil(quantile * 100'000)) - 1]);
    EXPECT_NEAR(histogram.Quantile(quantile), exact, exact / 1024) << quantile;
  }
  EXPECT_EQ(histogram.most(), values.back());
}

TEST(HistogramTest, EveryNumberIsInABucketAroundIt) {
  for (uint64_t value = 1; value != 0; value <<= 1) {
    for (uint64_t near : {value - 1, value, value + 1, value + value / 3}) {
      FineHistogram histogram;
      histogram.Add(near);
      const auto exact = static_cast<double>(near);
      EXPECT_NEAR(histogram.Quantile(1), exact, exact / 1024) << near;
    }
  }
}

TEST(HistogramTest, TakesTheLargestNumber) {
  Histogram histogram;
  EXPECT_EQ(histogram.most(), 0u);
  histogram.Add(~uint64_t{0});
  EXPECT_NEAR(histogram.Quantile(0.5), 18446744073709551615.0, 3e17);
  EXPECT_EQ(histogram.most(), ~uint64_t{0});
}

TEST(HistogramTest, AMergeEqualsAddingTogether) {
  Histogram a, b, both;
  for (uint64_t i = 0; i < 1000; ++i) {
    (i % 3 == 0 ? a : b).Add(i * i);
    both.Add(i * i);
  }
  a.Merge(b);
  EXPECT_EQ(a.count(), both.count());
  EXPECT_EQ(a.most(), both.most());
  for (double quantile : {0.1, 0.5, 0.9}) {
    EXPECT_EQ(a.Quantile(quantile), both.Quantile(quantile));
  }
}

TEST(MedianTest, HandlesOddEvenAndEmpty) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(Median({}), 0);
}

TEST(SpreadTest, IsTheRangeOverTheMedian) {
  EXPECT_EQ(Spread({90, 100, 120}), 0.3);
  EXPECT_EQ(Spread({100}), 0);
  EXPECT_EQ(Spread({}), 0);
}

}  // namespace
}  // namespace kamino::bench
