// How long a neighbour has owed an answer.
#ifndef KAMINO_REPLICA_CORE_DEBT_H_
#define KAMINO_REPLICA_CORE_DEBT_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace kamino::replica {

// Not thread-safe.
class Debt {
 public:
  // The caller reports the debt now and then, in order of time. `paid` grows
  // with each part of an answer, and each part restarts the time.
  void Update(bool owes, uint64_t paid, absl::Time now) {
    if (!owes || !owes_ || paid != paid_) {
      since_ = now;
      forgiven_ = absl::ZeroDuration();
    }
    // The long step may have begun before the debt did.
    since_ = std::min(since_, now);
    owes_ = owes;
    paid_ = paid;
    age_ = now - since_;
  }

  // This node's core spent `time` within one step since the last Update and
  // read no answer meanwhile. That time does not count, but at most `most` of
  // one debt is forgiven. Idle time of the core counts: it would have read the
  // answer.
  void StoodStill(absl::Duration time, absl::Duration most) {
    if (!owes_) return;
    const absl::Duration forgiven =
        std::clamp(time, absl::ZeroDuration(),
                   std::max(most - forgiven_, absl::ZeroDuration()));
    forgiven_ += forgiven;
    since_ += forgiven;
  }

  void Forgive() { *this = Debt(); }

  // As of the last Update. Zero: nothing is owed.
  absl::Duration age() const { return age_; }

 private:
  bool owes_ = false;
  uint64_t paid_ = 0;
  absl::Time since_ = absl::InfinitePast();  // moved on by forgiven_
  absl::Duration forgiven_;
  absl::Duration age_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CORE_DEBT_H_
