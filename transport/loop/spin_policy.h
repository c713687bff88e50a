// Decides whether an event loop polls again or sleeps: it spins for a while
// after work, and only now and then once spinning has often found nothing.
//
// Not thread-safe: the loop's thread owns it.
#ifndef KAMINO_TRANSPORT_LOOP_SPIN_POLICY_H_
#define KAMINO_TRANSPORT_LOOP_SPIN_POLICY_H_

#include <cstdint>
#include <utility>

#include "absl/time/time.h"

namespace kamino::transport {

class SpinPolicy {
 public:
  // `spin`: how long the loop polls after work before it sleeps.
  explicit SpinPolicy(absl::Duration spin)
      : spin_nanos_(absl::ToInt64Nanoseconds(spin)) {}

  // The loop has polled; `found`: there was work; `spinning`: it polls again
  // and again.
  void OnPolled(bool found, bool spinning) {
    if (!found) {
      spun_ |= spinning;
    } else if (std::exchange(spun_, false)) {
      worth_ = kMostWorth;
    }
  }

  // Whether to poll again rather than sleep, given whether the last round
  // `worked` and how long the loop has been idle.
  bool MaySpin(bool worked, int64_t idle_nanos) {
    if (worked) {
      may_spin_ = worth_ > 0 || ++skipped_ % kSkippedSpins == 0;
      return may_spin_;
    }
    if (may_spin_ && idle_nanos < spin_nanos_) return true;
    if (std::exchange(spun_, false) && worth_ > 0) --worth_;
    may_spin_ = false;
    return false;
  }

 private:
  static constexpr int kMostWorth = 32;
  // After kMostWorth futile spins the loop spins only once in so many turns of
  // work: the thread whose answer it awaits may need the processor.
  static constexpr int kSkippedSpins = 32;

  const int64_t spin_nanos_;
  int worth_ = kMostWorth;  // futile spins left before the loop spins seldom
  uint64_t skipped_ = 0;    // turns of work that no spin may follow
  bool may_spin_ = false;   // after the last turn of work
  bool spun_ = false;       // since, and has found nothing yet
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_LOOP_SPIN_POLICY_H_
