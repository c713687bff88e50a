// Limits how many transactions, or log entries, one step of the core thread
// propagates to the undo copy, so that the step stays within a time budget:
// requests, ticks and messages wait for the whole step. On memory a step takes
// microseconds; on a disk it writes all that the transactions have changed.
#ifndef KAMINO_NODE_DRIVER_PROPAGATION_PACE_H_
#define KAMINO_NODE_DRIVER_PROPAGATION_PACE_H_

#include <algorithm>
#include <cstddef>

#include "absl/time/time.h"

namespace kamino::node {

// Not thread-safe.
class PropagationPace {
 public:
  // A step that takes longer makes the next one smaller. A step propagates at
  // least one transaction, however long that takes.
  static constexpr absl::Duration kBudget = absl::Milliseconds(20);
  static constexpr size_t kMost = 64;

  size_t step() const { return step_; }

  // Notes that a step of up to `step` transactions took `time`.
  void Took(size_t step, absl::Duration time) {
    if (time > kBudget) {
      step_ = std::max<size_t>(std::min(step, step_) / 2, 1);
    } else if (time <= kBudget / 2) {
      step_ = std::min(step_ + 1, kMost);
    }
  }

 private:
  size_t step_ = kMost;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_PROPAGATION_PACE_H_
