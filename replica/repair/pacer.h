// Limits a rate of bytes on average: a token bucket.
#ifndef KAMINO_REPLICA_REPAIR_PACER_H_
#define KAMINO_REPLICA_REPAIR_PACER_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace kamino::replica {

// Not thread-safe.
class Pacer {
 public:
  // No limit when `bytes_per_s` is 0. Unused rate is saved up for `burst`,
  // which is longer than the time between two calls of MayGo.
  Pacer(uint64_t bytes_per_s, absl::Duration burst)
      : bytes_per_s_(static_cast<double>(bytes_per_s)),
        burst_(bytes_per_s_ * absl::ToDoubleSeconds(burst)) {}

  // `now` never goes back.
  bool MayGo(absl::Time now) {
    if (bytes_per_s_ == 0) return true;
    const double seconds = absl::ToDoubleSeconds(now - filled_at_);
    saved_ = std::min(burst_, saved_ + seconds * bytes_per_s_);
    filled_at_ = now;
    return saved_ > 0;
  }

  // Counts bytes; may be more than was saved, and later bytes then wait longer.
  void Went(uint64_t bytes) {
    if (bytes_per_s_ > 0) saved_ -= static_cast<double>(bytes);
  }

 private:
  const double bytes_per_s_;
  const double burst_;
  double saved_ = 0;
  absl::Time filled_at_ = absl::InfinitePast();
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_REPAIR_PACER_H_
