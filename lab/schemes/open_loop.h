// Transactions that arrive at a rate, whether the ones before have ended or
// not: below saturation, what one of them takes.
#ifndef KAMINO_LAB_SCHEMES_OPEN_LOOP_H_
#define KAMINO_LAB_SCHEMES_OPEN_LOOP_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/harness/statistics.h"
#include "engine/transactional_store.h"

namespace kamino::bench::schemes {

struct Arrivals {
  double per_second = 0;
  uint64_t count = 0;
  uint64_t seed = 1;  // of the times between them, which are exponential
  // How long one that has committed is waited for until it is durable.
  absl::Duration patience = absl::Seconds(2);
};

// Nanoseconds; a histogram's numbers are whole.
struct Responses {
  Histogram service;   // from the begin to the commit's return
  Histogram response;  // from the arrival to the commit's return
  Histogram durable;   // from the begin until it is durable
  // For transactions that became durable after Commit: the number of
  // transactions that had committed after it by then.
  Histogram lag;
  uint64_t never_durable = 0;  // within the patience
  double seconds = 0;          // from the first arrival to the last's return
};

// Runs `body` in a transaction for each, on this thread; others wait until
// those are durable that are not when Commit returns.
absl::StatusOr<Responses> RunArrivals(
    engine::TransactionalStore& store, const Arrivals& arrivals,
    absl::FunctionRef<absl::Status(engine::Transaction&)> body);

}  // namespace kamino::bench::schemes

#endif  // KAMINO_LAB_SCHEMES_OPEN_LOOP_H_
