// For how long somebody has owed an answer.
#ifndef KAMINO_REPLICA_DEBT_H_
#define KAMINO_REPLICA_DEBT_H_

#include <cstdint>

#include "absl/time/time.h"

namespace kamino::replica {

// Not thread-safe.
class Debt {
 public:
  // To be told now and then, in order. `paid` grows with what is answered: a
  // part of it is enough for the time to begin anew.
  void Update(bool owes, uint64_t paid, absl::Time now) {
    if (!owes || !owes_ || paid != paid_) since_ = now;
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
  absl::Time since_ = absl::InfinitePast();
  absl::Duration age_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_DEBT_H_
