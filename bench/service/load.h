// Two kinds of load on one subject, and what it made of them.
//
// Closed: so many operations are under way at any time; one that ends begins
// the next. It shows what a subject can do. Its latencies are those of that
// very load: while the subject stands still nobody asks it anything.
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

// What is measured lies between the two. Warm-up comes before the first.
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
  // Of what was due (open) or begun (closed) within the window and went well,
  // also when it ended later; nanoseconds.
  FineHistogram latency;
  // Of those of them that change something; of a read-modify-write all of it.
  FineHistogram latency_of_writes;
  // Open: how late operations were begun. The load's own share in `latency`,
  // where it is not the subject's stalls that kept all callers waiting.
  FineHistogram lateness;
  // Of all operations, those of the warm-up included.
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
