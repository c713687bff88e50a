// One call of Admission::ExecuteReady: it ends after a bounded time and work,
// because ticks and messages wait for the whole call.
#ifndef KAMINO_HEAD_TURN_H_
#define KAMINO_HEAD_TURN_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/time/time.h"

namespace kamino::head {

class Turn {
 public:
  // A turn lasts about `most`, by `clock`; a null clock: there is no such
  // limit. It touches about `most_touched` objects.
  Turn(std::function<absl::Time()> clock, absl::Duration most,
       uint64_t most_touched);

  void Begin(absl::Time now);
  // Ends the turn early.
  void End() { ended_ = true; }
  // The turn has touched so many more objects.
  void Touch(uint64_t objects) { touched_ += objects; }
  // Checks whether the turn has lasted long.
  void LookAtClock();
  // Whether request `i` of a batch is left to the next turn.
  bool EndsBefore(size_t i);
  bool is_over() const {
    return ended_ || is_long_ || touched_ >= most_touched_;
  }

 private:
  const std::function<absl::Time()> clock_;
  const absl::Duration most_;
  const uint64_t most_touched_;
  absl::Time began_;
  uint64_t touched_ = 0;
  bool is_long_ = false;
  bool ended_ = false;
  uint64_t look_at_ = 0;  // value of touched_ at which to read the clock
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_TURN_H_
