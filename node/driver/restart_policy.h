// Slows down a node that crashes repeatedly, so that the chain is undisturbed
// between the crashes. StorageOptions::restart_limit is the limit at which it
// stays down.
#ifndef KAMINO_NODE_DRIVER_RESTART_POLICY_H_
#define KAMINO_NODE_DRIVER_RESTART_POLICY_H_

#include <cstdint>

#include "absl/time/time.h"

namespace kamino::node {

struct RestartPolicy {
  // So many restarts have no delay: a quick reboot keeps the node's place.
  uint32_t free = 2;
  // The delay before the node registers after one more; doubles with each
  // further one.
  absl::Duration first_delay = absl::Seconds(1);
  absl::Duration most_delay = absl::Minutes(1);
  // A process that has run for so long did not crash on its start.
  absl::Duration long_life = absl::Minutes(10);
};

// `restarts`: replica::NodeState::restarts.
absl::Duration DelayAfter(const RestartPolicy& policy, uint32_t restarts);

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_RESTART_POLICY_H_
