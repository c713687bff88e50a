// Latencies as a histogram, and the statistics of a handful of rounds.
#ifndef KAMINO_BENCH_HARNESS_STATISTICS_H_
#define KAMINO_BENCH_HARNESS_STATISTICS_H_

#include <cstdint>
#include <vector>

namespace kamino::bench {

// A histogram of positive whole numbers, within 1/2^kBits of each. It takes (65
// - kBits) * 2^(kBits + 3) bytes however many numbers it has. Not thread-safe.
template <int kBits>
class LogLinearHistogram {
 public:
  LogLinearHistogram() : counts_(kBuckets) {}

  void Add(uint64_t value) {
    ++counts_[BucketOf(value)];
    ++count_;
    sum_ += static_cast<double>(value);
    if (value > most_) most_ = value;
  }
  void Merge(const LogLinearHistogram& other);

  uint64_t count() const { return count_; }
  // The largest, exactly. 0 when there is none.
  uint64_t most() const { return most_; }
  // Mean of the values, not of their buckets. 0 when there is none.
  double Mean() const {
    return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
  }

  // The least value that at least `quantile` (0 to 1) of all are not above,
  // as the middle of its bucket. 0 when there is none.
  double Quantile(double quantile) const;

 private:
  // Values below 2^kBits have a bucket each; from there on every doubling has
  // 2^kBits.
  static constexpr uint64_t kBuckets = uint64_t{64 - kBits + 1} << kBits;

  static uint64_t BucketOf(uint64_t value) {
    if (value < (uint64_t{1} << kBits)) return value;
    const int shift = 63 - __builtin_clzll(value) - kBits;
    return (static_cast<uint64_t>(shift) << kBits) + (value >> shift);
  }
  static double MiddleOf(uint64_t bucket);

  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
  double sum_ = 0;
  uint64_t most_ = 0;
};

using Histogram = LogLinearHistogram<6>;       // 30 KiB
using FineHistogram = LogLinearHistogram<10>;  // 440 KiB

// 0 for none.
double Median(std::vector<double> values);

// How far the rounds are apart: (largest - smallest) / median.
double Spread(const std::vector<double>& values);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_HARNESS_STATISTICS_H_
