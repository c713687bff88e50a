// The clock that everything is timed by.
//
// Nothing waits, and nothing is decided, by the wall clock: whoever sets it
// must not stop a node, nor make a lease longer. So
//   - times are MonotonicNow()'s; leases, which go on while a machine is
//     suspended, have membership/lease_clock.h;
//   - Abseil's waits, which are made by the wall clock, are replaced in every
//     program that links this (base/monotonic_waits.cc): ours, and those that
//     gRPC makes for its own timers;
//   - timeouts of calls are rpc::SetTimeout's, and what gRPC reckons those of
//     methods by is replaced, too (rpc/channel.cc).
// A wait is told how long (AwaitWithTimeout), not until when: a Time of this
// clock means nothing to Abseil. tests/tidy holds the product to that.
#ifndef KAMINO_BASE_CLOCK_H_
#define KAMINO_BASE_CLOCK_H_

#include "absl/time/time.h"

namespace kamino {

// As a time, though of no calendar: it never goes back, and never jumps. Means
// nothing to another process. Thread-safe.
absl::Time MonotonicNow();

}  // namespace kamino

#endif  // KAMINO_BASE_CLOCK_H_
