// The clock of leases.
#ifndef KAMINO_MEMBERSHIP_LEASE_CLOCK_H_
#define KAMINO_MEMBERSHIP_LEASE_CLOCK_H_

#include "absl/time/time.h"

namespace kamino::membership {

// Time since this machine booted. Monotonic; unlike std::chrono::steady_clock
// it continues while the machine is suspended, so that a lease has expired when
// the node resumes. Meaningless on other machines.
absl::Time LeaseClockNow();

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_LEASE_CLOCK_H_
