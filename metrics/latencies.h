// Histograms of durations. All use the same buckets, so that those of several
// nodes can be added up: 1, 2.5, 5 and so on, from 1 us to 10 s, as is usual
// with Prometheus.
#ifndef KAMINO_METRICS_LATENCIES_H_
#define KAMINO_METRICS_LATENCIES_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "metrics/cells.h"

namespace kamino::metrics {

// Upper bounds in nanoseconds, inclusive; one more bucket holds longer
// durations.
inline constexpr std::array<int64_t, 22> kLatencyBounds = {
    1'000,         2'500,          5'000,       10'000,        25'000,
    50'000,        100'000,        250'000,     500'000,       1'000'000,
    2'500'000,     5'000'000,      10'000'000,  25'000'000,    50'000'000,
    100'000'000,   250'000'000,    500'000'000, 1'000'000'000, 2'500'000'000,
    5'000'000'000, 10'000'000'000,
};
inline constexpr size_t kLatencyBuckets = kLatencyBounds.size() + 1;

namespace internal {

// The first bucket that a number may fall into, by its bit width.
constexpr std::array<uint8_t, 65> FirstBuckets() {
  std::array<uint8_t, 65> first = {};
  for (size_t width = 0; width < first.size(); ++width) {
    const uint64_t least = width == 0 ? 0 : uint64_t{1} << (width - 1);
    size_t bucket = 0;
    while (bucket < kLatencyBounds.size() &&
           static_cast<uint64_t>(kLatencyBounds[bucket]) < least) {
      ++bucket;
    }
    first[width] = static_cast<uint8_t>(bucket);
  }
  return first;
}
inline constexpr auto kFirstBuckets = FirstBuckets();

}  // namespace internal

// The bucket of `nanos`; the first one for negative values.
inline size_t LatencyBucket(int64_t nanos) {
  if (nanos < 0) nanos = 0;
  size_t bucket =
      internal::kFirstBuckets[std::bit_width(static_cast<uint64_t>(nanos))];
  while (bucket < kLatencyBounds.size() && nanos > kLatencyBounds[bucket]) {
    ++bucket;
  }
  return bucket;
}

// The counts at one moment.
struct LatencySnapshot {
  std::array<uint64_t, kLatencyBuckets> buckets = {};
  uint64_t sum_nanos = 0;

  uint64_t count() const {
    uint64_t count = 0;
    for (uint64_t bucket : buckets) count += bucket;
    return count;
  }
};

// For any thread, based on Cells: it lives as long as the process.
class Latencies {
 public:
  Latencies() : first_(Cells::Reserve(kLatencyBuckets + 1)) {}
  Latencies(const Latencies&) = delete;
  Latencies& operator=(const Latencies&) = delete;

  void Add(absl::Duration took) { Add(absl::ToInt64Nanoseconds(took), 1); }
  // Adds `count` durations of `nanos`.
  void Add(int64_t nanos, uint64_t count) {
    Cells::Add(first_ + LatencyBucket(nanos), count);
    Cells::Add(first_ + kLatencyBuckets,
               static_cast<uint64_t>(nanos < 0 ? 0 : nanos) * count);
  }

  LatencySnapshot Read() const {
    LatencySnapshot snapshot;
    Cells::Sum(first_, absl::MakeSpan(snapshot.buckets));
    snapshot.sum_nanos = Cells::Sum(first_ + kLatencyBuckets);
    return snapshot;
  }

 private:
  const size_t first_;
};

// For one writing thread, the owner; any thread reads.
class OwnedLatencies {
 public:
  // For the owner's thread; about fifteen instructions.
  void Add(absl::Duration took) {
    const int64_t nanos = absl::ToInt64Nanoseconds(took);
    Count(&buckets_[LatencyBucket(nanos)], 1);
    Count(&sum_nanos_, static_cast<uint64_t>(nanos < 0 ? 0 : nanos));
  }

  LatencySnapshot Read() const {
    LatencySnapshot snapshot;
    for (size_t i = 0; i < kLatencyBuckets; ++i) {
      snapshot.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
    }
    snapshot.sum_nanos = sum_nanos_.load(std::memory_order_relaxed);
    return snapshot;
  }

 private:
  static void Count(std::atomic<uint64_t>* counter, uint64_t n) {
    counter->store(counter->load(std::memory_order_relaxed) + n,
                   std::memory_order_relaxed);
  }

  std::array<std::atomic<uint64_t>, kLatencyBuckets> buckets_{};
  std::atomic<uint64_t> sum_nanos_{0};
};

}  // namespace kamino::metrics

#endif  // KAMINO_METRICS_LATENCIES_H_
