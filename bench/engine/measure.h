// Runs workers on a store for a slice of time, or for a number of transactions.
#ifndef KAMINO_BENCH_ENGINE_MEASURE_H_
#define KAMINO_BENCH_ENGINE_MEASURE_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/engine/workload.h"
#include "bench/harness/statistics.h"

namespace kamino::bench {

struct SliceLimits {
  absl::Duration duration;  // the slice ends with whichever comes first
  uint64_t transactions;    // per thread
};

struct Slice {
  uint64_t transactions = 0;
  uint64_t retries = 0;
  double seconds = 0;            // until the last is done and the store quiet
  std::vector<Histogram> ticks;  // latencies by kind

  double PerSecond() const {
    return seconds > 0 ? static_cast<double>(transactions) / seconds : 0;
  }
};

// Threads are pinned to the processors in turn. They start together; the clock
// stops when all are done and `quiesce` has returned, so that work put off
// counts like work done. One transaction in seven is timed by itself, so that
// reading the clock does not slow the short ones down. Returns the first error
// of a worker.
absl::StatusOr<Slice> RunSlice(absl::FunctionRef<void()> quiesce,
                               Dataset& dataset, const Cell& cell, size_t kinds,
                               uint64_t seed, const SliceLimits& limits);
// With the store's Quiesce.
absl::StatusOr<Slice> RunSlice(engine::TransactionalStore& store,
                               Dataset& dataset, const Cell& cell, size_t kinds,
                               uint64_t seed, const SliceLimits& limits);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_MEASURE_H_
