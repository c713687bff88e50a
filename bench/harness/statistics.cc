#include "bench/harness/statistics.h"

#include <algorithm>
#include <cmath>

namespace kamino::bench {

template <int kBits>
void LogLinearHistogram<kBits>::Merge(const LogLinearHistogram& other) {
  for (uint64_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  most_ = std::max(most_, other.most_);
}

template <int kBits>
double LogLinearHistogram<kBits>::MiddleOf(uint64_t bucket) {
  if (bucket < (1u << kBits)) return static_cast<double>(bucket);
  const uint64_t shift = (bucket >> kBits) - 1;
  const double low = std::ldexp(
      static_cast<double>((bucket & ((1u << kBits) - 1)) + (1u << kBits)),
      static_cast<int>(shift));
  return low + (std::ldexp(1.0, static_cast<int>(shift)) - 1) / 2;
}

template <int kBits>
double LogLinearHistogram<kBits>::Quantile(double quantile) const {
  if (count_ == 0) return 0;
  const double wanted = std::ceil(quantile * static_cast<double>(count_));
  const uint64_t rank = std::max<uint64_t>(static_cast<uint64_t>(wanted), 1);
  uint64_t seen = 0;
  for (uint64_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen >= rank) return MiddleOf(i);
  }
  return MiddleOf(kBuckets - 1);
}

template class LogLinearHistogram<6>;
template class LogLinearHistogram<10>;

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  if (values.size() % 2 == 1) return values[half];
  return (values[half - 1] + values[half]) / 2;
}

double Spread(const std::vector<double>& values) {
  const double median = Median(values);
  if (median == 0) return 0;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return (*most - *least) / median;
}

}  // namespace kamino::bench
