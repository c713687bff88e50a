// The monotonic clock, which times everything.
//
// No wait and no decision depends on the wall clock, so that setting it neither
// stops a node nor extends a lease:
//   - times come from MonotonicNow(); leases, which continue while a machine is
//     suspended, use membership/lease_clock.h;
//   - base/monotonic_waits.cc replaces Abseil's waits, which use the wall
//     clock, in every program that links this: our own, and those that gRPC
//     makes for its timers;
//   - timeouts of calls use rpc::SetTimeout; rpc/channel.cc replaces the clock
//     by which gRPC counts the timeouts of methods.
// Waits take a duration (AwaitWithTimeout), not an end time: Abseil does not
// know times of this clock. tests/tidy checks this.
#ifndef KAMINO_BASE_CLOCK_H_
#define KAMINO_BASE_CLOCK_H_

#include "absl/time/time.h"

namespace kamino {

// Never goes back and never jumps; not a calendar time. Only meaningful within
// this process. Thread-safe.
absl::Time MonotonicNow();

}  // namespace kamino

#endif  // KAMINO_BASE_CLOCK_H_
