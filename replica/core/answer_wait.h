// How long this node has waited for an answer of a neighbour.
#ifndef KAMINO_REPLICA_CORE_ANSWER_WAIT_H_
#define KAMINO_REPLICA_CORE_ANSWER_WAIT_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace kamino::replica {

// Not thread-safe.
class AnswerWait {
 public:
  // The caller reports now and then, in order of time, whether it waits.
  // `answered` grows with each part of an answer, and each part restarts the
  // time.
  void Update(bool waits, uint64_t answered, absl::Time now) {
    if (!waits || !waits_ || answered != answered_) {
      since_ = now;
      excused_ = absl::ZeroDuration();
    }
    // The long step may have begun before the wait did.
    since_ = std::min(since_, now);
    waits_ = waits;
    answered_ = answered;
    age_ = now - since_;
  }

  // This node's core spent `time` within one step since the last Update and
  // read no answer meanwhile. That time does not count, but at most `most` of
  // one wait is excused. Idle time of the core counts: it would have read the
  // answer.
  void StoodStill(absl::Duration time, absl::Duration most) {
    if (!waits_) return;
    const absl::Duration excused =
        std::clamp(time, absl::ZeroDuration(),
                   std::max(most - excused_, absl::ZeroDuration()));
    excused_ += excused;
    since_ += excused;
  }

  void Reset() { *this = AnswerWait(); }

  // As of the last Update. Zero: no answer is awaited.
  absl::Duration age() const { return age_; }

 private:
  bool waits_ = false;
  uint64_t answered_ = 0;
  absl::Time since_ = absl::InfinitePast();  // moved on by excused_
  absl::Duration excused_;
  absl::Duration age_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CORE_ANSWER_WAIT_H_
