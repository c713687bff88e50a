// Sleeps for a fixed time.
#ifndef KAMINO_BASE_PAUSE_H_
#define KAMINO_BASE_PAUSE_H_

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace kamino {

// Uses the clock of base/clock.h. Not for code that could wait for an event
// instead, nor for code that the simulator runs.
inline void Pause(absl::Duration time) {
  absl::Notification never;
  never.WaitForNotificationWithTimeout(time);
}

}  // namespace kamino

#endif  // KAMINO_BASE_PAUSE_H_
