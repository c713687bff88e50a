// Latencies as a histogram, and the statistics of a handful of rounds.
#ifndef KAMINO_BENCH_HARNESS_STATISTICS_H_
#define KAMINO_BENCH_HARNESS_STATISTICS_H_

#include <cstdint>
#include <vector>

namespace kamino::bench {

// Of positive whole numbers, within 1/64 of each. Not thread-safe.
class Histogram {
 public:
  Histogram() : counts_(kBuckets) {}

  void Add(uint64_t value) {
    ++counts_[BucketOf(value)];
    ++count_;
  }
  void Merge(const Histogram& other);

  uint64_t count() const { return count_; }

  // The least value that at least `quantile` (0 to 1) of all are not above,
  // as the middle of its bucket. 0 when there is none.
  double Quantile(double quantile) const;

 private:
  // Values below 64 have a bucket each; from there on every doubling has 64.
  static constexpr int kBits = 6;
  static constexpr uint64_t kBuckets = (64 - kBits + 1) << kBits;

  static uint64_t BucketOf(uint64_t value) {
    if (value < (1u << kBits)) return value;
    const int shift = 63 - __builtin_clzll(value) - kBits;
    return (static_cast<uint64_t>(shift) << kBits) + (value >> shift);
  }
  static double MiddleOf(uint64_t bucket);

  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
};

// 0 for none.
double Median(std::vector<double> values);

// How far the rounds are apart: (largest - smallest) / median.
double Spread(const std::vector<double>& values);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_HARNESS_STATISTICS_H_
