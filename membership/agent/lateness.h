// How much of the last second a node's core spent in slow steps, because of a
// slow medium or of overload.
#ifndef KAMINO_MEMBERSHIP_AGENT_LATENESS_H_
#define KAMINO_MEMBERSHIP_AGENT_LATENESS_H_

#include <algorithm>

#include "absl/time/time.h"

namespace kamino::membership {

// Not thread-safe.
class Lateness {
 public:
  // Adds a step of the core; steps of up to `longest` do not count. Older steps
  // count less. A single step is not slowness, however long it took: the
  // process may have been paused.
  void Add(absl::Duration step, absl::Duration longest) {
    const absl::Duration counted = std::min(step, absl::Milliseconds(500));
    const double weight =
        absl::FDivDuration(counted, counted + absl::Seconds(1));
    part_ += ((step > longest ? 1 : 0) - part_) * weight;
  }
  // Per second.
  absl::Duration of_a_second() const { return absl::Seconds(part_); }

 private:
  double part_ = 0;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGENT_LATENESS_H_
