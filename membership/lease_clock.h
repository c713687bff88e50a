// The clock that leases are counted on.
#ifndef KAMINO_MEMBERSHIP_LEASE_CLOCK_H_
#define KAMINO_MEMBERSHIP_LEASE_CLOCK_H_

#include "absl/time/time.h"

namespace kamino::membership {

// Time since this machine booted, as a time. Monotonic, and unlike
// std::chrono::steady_clock it goes on while the machine is suspended: a node
// that wakes up must find its lease run out. Means nothing to another machine.
absl::Time LeaseClockNow();

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_LEASE_CLOCK_H_
