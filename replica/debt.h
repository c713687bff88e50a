// For how long somebody has owed an answer.
#ifndef KAMINO_REPLICA_DEBT_H_
#define KAMINO_REPLICA_DEBT_H_

#include <cstdint>

#include "absl/time/time.h"

namespace kamino::replica {

// Not thread-safe.
class Debt {
 public:
  // Of the time between two updates no more counts: this node stood still
  // longer, as its disk did, and has not looked for an answer. The others may
  // have stood still as well.
  static constexpr absl::Duration kLongestPause = absl::Milliseconds(100);

  // To be told now and then, in order. `paid` grows with what is answered: a
  // part of it is enough for the time to begin anew.
  void Update(bool owes, uint64_t paid, absl::Time now) {
    if (!owes || !owes_ || paid != paid_) {
      since_ = now;
    } else if (now - updated_ > kLongestPause) {
      since_ += now - updated_ - kLongestPause;
    }
    updated_ = now;
    owes_ = owes;
    paid_ = paid;
    age_ = now - since_;
  }
  void Forgive() { *this = Debt(); }

  // As of the last Update. Zero: nothing is owed.
  absl::Duration age() const { return age_; }

 private:
  bool owes_ = false;
  uint64_t paid_ = 0;
  absl::Time updated_ = absl::InfinitePast();
  absl::Time since_ = absl::InfinitePast();  // less pauses
  absl::Duration age_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_DEBT_H_
