// How much of the last second a node's core was in steps that took long: a
// medium that is slow makes them so, or work that is too much for it.
#ifndef KAMINO_MEMBERSHIP_LATENESS_H_
#define KAMINO_MEMBERSHIP_LATENESS_H_

#include <algorithm>

#include "absl/time/time.h"

namespace kamino::membership {

// Not thread-safe.
class Lateness {
 public:
  // A step has ended that took so much time; those that took `longest` or less
  // do not count. The further it lies back, the less. One step alone is no
  // slowness, however long it took: the process may have been stopped.
  void Add(absl::Duration step, absl::Duration longest) {
    const absl::Duration counted = std::min(step, absl::Milliseconds(500));
    const double weight =
        absl::FDivDuration(counted, counted + absl::Seconds(1));
    part_ += ((step > longest ? 1 : 0) - part_) * weight;
  }
  // Of a second.
  absl::Duration of_a_second() const { return absl::Seconds(part_); }

 private:
  double part_ = 0;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_LATENESS_H_
