// Two kinds of load on one subject, and their outcome.
//
// Closed: a fixed number of operations is in progress at any time; the end of
// one begins the next. It shows the throughput of a subject. Its latencies are
// those of that very load: while the subject stalls, it receives no requests.
//
// Open: operations are due at times that do not depend on the subject, and
// their latency is counted from when they were due, also when they could not be
// sent then. A stall of the subject is thus in the latencies of all that were
// due meanwhile.
#ifndef KAMINO_BENCH_SERVICE_LOAD_H_
#define KAMINO_BENCH_SERVICE_LOAD_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bench/harness/statistics.h"
#include "bench/service/subject.h"
#include "bench/service/workload.h"

namespace kamino::bench::service {

// The measured interval, between `begins` and `ends`. The warm-up precedes it.
struct Window {
  absl::Duration warm_up;
  absl::Duration length;
  // Called when it begins and ends; they may be empty.
  std::function<void()> begins;
  std::function<void()> ends;
};

enum class Arrivals {
  kPoisson,
  kFixed,  // one after the other, equally far apart
};

struct Outcome {
  uint64_t ended = 0;      // well, within the window
  absl::Duration elapsed;  // of the window
  // Latency, in nanoseconds, of operations that were due (open) or begun
  // (closed) within the window and succeeded, also when they ended later.
  FineHistogram latency;
  // The part of these that changes something; a read-modify-write counts whole.
  FineHistogram latency_of_writes;
  // Open: how late operations were begun. The load's own share in `latency`,
  // where it is not the subject's stalls that kept all callers waiting.
  FineHistogram lateness;
  // Errors of all operations, including those of the warm-up.
  uint64_t errors = 0;
  absl::Status first_error;

  double per_second() const {
    return static_cast<double>(ended) /
           std::max(absl::ToDoubleSeconds(elapsed), 1e-9);
  }
};

// Keeps `outstanding` operations under way. A caller whose operation fails
// begins no more: a subject that is gone fails them as fast as they come.
Outcome RunClosed(Subject* subject, const Workload& workload, int outstanding,
                  uint64_t seed, const Window& window);

// So many operations in all, as a closed load. They are not measured.
absl::Status RunToEnd(Subject* subject, const Workload& workload,
                      int outstanding, uint64_t operations, uint64_t seed);

// Under way at once, of an open load. More wait, while their time runs.
inline constexpr int kMostUnderWay = 2048;

Outcome RunOpen(Subject* subject, const Workload& workload, double per_second,
                Arrivals arrivals, uint64_t seed, const Window& window);

}  // namespace kamino::bench::service

#endif  // KAMINO_BENCH_SERVICE_LOAD_H_
