#include "base/clock.h"

#include <chrono>

namespace kamino {

absl::Time MonotonicNow() {
  return absl::UnixEpoch() +
         absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace kamino
