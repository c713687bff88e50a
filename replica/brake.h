// Lets the chain complete no more than a node that joins can take: what is not
// completed fills the head's limit of log entries in flight, and so writes wait
// (head/admission.h). What is held is complete, so that letting go is safe at
// any time.
//
//   state     input               next      effects
//   kOpen     Update, due         kHolding
//   kHolding  Update, not due     kOpen     all may be completed
//             Update, for too     kHolding  one more entry may be completed;
//             long                          the next may be held for longer
//   any       Reset               kOpen
// Anything else changes nothing.
#ifndef KAMINO_REPLICA_BRAKE_H_
#define KAMINO_REPLICA_BRAKE_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace kamino::replica {

// Not thread-safe. `now` never goes back.
class Brake {
 public:
  // For how long an entry is held: the first under any failure timeout there
  // may be, as its tail is suspect otherwise; and the last under the default.
  static constexpr absl::Duration kFirstHold = absl::Milliseconds(50);
  static constexpr absl::Duration kLongestHold = absl::Milliseconds(400);

  void Update(bool due, absl::Time now) {
    if (!due || !holds_) {
      holds_ = due;
      since_ = now;
    } else if (now - since_ >= hold_) {
      lets_one_ = true;
      since_ = now;
      hold_ = std::min(kLongestHold, 2 * hold_);
    }
  }
  void Reset() { *this = Brake(); }

  bool holds() const { return holds_; }
  // An entry was held for too long at least once.
  bool overrun() const { return hold_ > kFirstHold; }
  // True once for each that may go.
  bool TakeOne() {
    const bool one = lets_one_;
    lets_one_ = false;
    return one;
  }

 private:
  bool holds_ = false;
  bool lets_one_ = false;
  absl::Time since_ = absl::InfinitePast();
  absl::Duration hold_ = kFirstHold;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_BRAKE_H_
