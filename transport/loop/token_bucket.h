// Limits how often something happens: a rate in the long run, and a burst after
// a quiet time.
#ifndef KAMINO_TRANSPORT_LOOP_TOKEN_BUCKET_H_
#define KAMINO_TRANSPORT_LOOP_TOKEN_BUCKET_H_

#include <algorithm>

#include "absl/time/time.h"
#include "transport/link.h"

namespace kamino::transport {

// Full at first. All calls pass the same rate, which the caller keeps, and
// times that never go back.
class TokenBucket {
 public:
  bool Has(const ComeRate& rate, absl::Time now) const {
    return rate.per_second == 0 || Level(rate, now) >= 1;
  }
  bool IsFull(const ComeRate& rate, absl::Time now) const {
    return rate.per_second == 0 || Level(rate, now) >= rate.burst;
  }
  // Takes a token that it has.
  void Take(const ComeRate& rate, absl::Time now) {
    if (rate.per_second == 0) return;
    level_ = Level(rate, now) - 1;
    at_ = now;
  }

 private:
  double Level(const ComeRate& rate, absl::Time now) const {
    if (at_ == absl::InfinitePast()) return rate.burst;
    return std::min(rate.burst, level_ + absl::ToDoubleSeconds(now - at_) *
                                             rate.per_second);
  }

  double level_ = 0;
  absl::Time at_ = absl::InfinitePast();  // last refill; never: full
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_LOOP_TOKEN_BUCKET_H_
