// Delays the dropping of silent nodes while their silence has a likelier cause
// than their death: this process stood still, or has just begun to lead, or the
// remaining nodes could not go on.
#ifndef KAMINO_MEMBERSHIP_MANAGER_HOLD_UPS_H_
#define KAMINO_MEMBERSHIP_MANAGER_HOLD_UPS_H_

#include "absl/time/time.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class HoldUps {
 public:
  explicit HoldUps(absl::Duration failure_timeout)
      : failure_timeout_(failure_timeout) {}

  // A leadership begins, and drops no node for `grace`.
  void Begin(absl::Duration grace, absl::Time now);
  // Every call with a time passes through here: a long gap is a hold-up of this
  // process.
  void Observe(absl::Time now);
  // No node is dropped for `time`.
  void Hold(absl::Duration time, absl::Time now) { until_ = now + time; }

  bool holds(absl::Time now) const { return now < until_; }
  // The latest time that was observed.
  absl::Time last_call() const { return last_call_; }

 private:
  const absl::Duration failure_timeout_;
  absl::Time last_call_ = absl::InfinitePast();
  absl::Time until_ = absl::InfinitePast();
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_HOLD_UPS_H_
