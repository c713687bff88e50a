#include "node/driver/restart_policy.h"

#include <algorithm>

namespace kamino::node {

absl::Duration DelayAfter(const RestartPolicy& policy, uint32_t restarts) {
  if (restarts <= policy.free) return absl::ZeroDuration();
  constexpr uint32_t kMostDoublings = 32;
  const uint32_t doublings =
      std::min(restarts - policy.free - 1, kMostDoublings);
  return std::min(policy.first_delay * (int64_t{1} << doublings),
                  policy.most_delay);
}

}  // namespace kamino::node
