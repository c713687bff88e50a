// Decides whether an event loop polls again or sleeps. The loop spins (polls
// without sleeping) for a time after work. Once many spins have found no work,
// it spins after a small share of the work only, until a spin finds work again.
//
// Not thread-safe: a member of EventLoop that only the loop's thread uses.
#ifndef KAMINO_TRANSPORT_LOOP_SPIN_POLICY_H_
#define KAMINO_TRANSPORT_LOOP_SPIN_POLICY_H_

#include <cstdint>
#include <utility>

#include "absl/time/time.h"

namespace kamino::transport {

class SpinPolicy {
 public:
  // `spin`: how long the loop polls after its last work before it sleeps.
  explicit SpinPolicy(absl::Duration spin)
      : spin_nanos_(absl::ToInt64Nanoseconds(spin)) {}

  // Call after each poll. `found`: the poll found work. `spinning`: the poll
  // was part of a spin.
  void OnPolled(bool found, bool spinning) {
    if (!found) {
      spun_ |= spinning;
    } else if (std::exchange(spun_, false)) {
      worth_ = kMostWorth;
    }
  }

  // Call before the loop would sleep. Returns whether it polls again instead.
  // `worked`: it found work since the last call. `idle_nanos`: the time since
  // its last work.
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
  // After kMostWorth futile spins, the loop spins after one in kSkippedSpins
  // calls of MaySpin that follow work: the thread whose answer it awaits may
  // need the processor.
  static constexpr int kSkippedSpins = 32;

  const int64_t spin_nanos_;
  int worth_ = kMostWorth;  // futile spins left before the loop spins seldom
  uint64_t skipped_ = 0;    // calls after work while worth_ was 0
  bool may_spin_ = false;   // the loop may spin since its last work
  bool spun_ = false;       // the current spin has polled and found no work
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_LOOP_SPIN_POLICY_H_
