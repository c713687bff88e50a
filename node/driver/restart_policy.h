// How a node that dies again and again is slowed down, so that the chain has
// peace between its deaths. The limit at which it stays down is
// StorageOptions::restart_limit.
#ifndef KAMINO_NODE_DRIVER_RESTART_POLICY_H_
#define KAMINO_NODE_DRIVER_RESTART_POLICY_H_

#include <cstdint>

#include "absl/time/time.h"

namespace kamino::node {

struct RestartPolicy {
  // So many are none too many: a quick reboot keeps the node's place.
  uint32_t free = 2;
  // Before the node asks to be taken in after one more; twice as long with each
  // further one.
  absl::Duration first_delay = absl::Seconds(1);
  absl::Duration most_delay = absl::Minutes(1);
  // A process that has run for so long does not end for what it began with.
  absl::Duration long_life = absl::Minutes(10);
};

// `restarts`: replica::NodeState::restarts.
absl::Duration DelayAfter(const RestartPolicy& policy, uint32_t restarts);

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_RESTART_POLICY_H_
