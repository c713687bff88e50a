#include "membership/lease_clock.h"

#include <time.h>

#include "glog/logging.h"

namespace kamino::membership {

absl::Time LeaseClockNow() {
  timespec now;
  PCHECK(clock_gettime(CLOCK_BOOTTIME, &now) == 0);
  return absl::TimeFromTimespec(now);
}

}  // namespace kamino::membership
