#include "membership/manager/hold_ups.h"

#include <algorithm>

namespace kamino::membership {

void HoldUps::Begin(absl::Duration grace, absl::Time now) {
  last_call_ = now;
  Hold(grace, now);
}

void HoldUps::Observe(absl::Time now) {
  if (now - last_call_ > failure_timeout_ / 2) Hold(failure_timeout_, now);
  last_call_ = std::max(last_call_, now);
}

}  // namespace kamino::membership
