// Slows the chain down to the rate that a joining node can take. Entries that
// are not completed fill the head's limit of log entries in flight, so writes
// wait (head/admission.h). Held entries are complete, so releasing them is
// always safe.
//
//   state     input               next      effects
//   kOpen     Update, due         kHolding
//   kHolding  Update, not due     kOpen     all may be completed
//             Update, for too     kHolding  one more entry may be completed;
//             long                          the next may be held for longer
//   any       Reset               kOpen
// Anything else changes nothing.
#ifndef KAMINO_REPLICA_REPAIR_BRAKE_H_
#define KAMINO_REPLICA_REPAIR_BRAKE_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace kamino::replica {

// Not thread-safe. `now` never goes back.
class Brake {
 public:
  // How long an entry is held. The first: below every possible failure timeout,
  // as the tail becomes suspect otherwise. The last: below the default one.
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
  // Whether an entry was held too long at least once.
  bool overrun() const { return hold_ > kFirstHold; }
  // True once for each entry that may be completed.
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

#endif  // KAMINO_REPLICA_REPAIR_BRAKE_H_
