// Waiting for nothing but time.
#ifndef KAMINO_BASE_PAUSE_H_
#define KAMINO_BASE_PAUSE_H_

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace kamino {

// By the clock of base/clock.h. Not where something might be waited for
// instead, and not where the simulator stands in for time.
inline void Pause(absl::Duration time) {
  absl::Notification never;
  never.WaitForNotificationWithTimeout(time);
}

}  // namespace kamino

#endif  // KAMINO_BASE_PAUSE_H_
