// The settings of a manager of one chain.
#ifndef KAMINO_MEMBERSHIP_MANAGER_MANAGER_OPTIONS_H_
#define KAMINO_MEMBERSHIP_MANAGER_MANAGER_OPTIONS_H_

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "base/chain_id.h"
#include "membership/lease_share.h"

namespace kamino::membership {

struct ManagerOptions {
  std::string cluster_id;
  ChainId chain_id = kOnlyChain;
  size_t chain_length = 4;
  absl::Duration failure_timeout = absl::Seconds(1);
  absl::Duration heartbeat_interval = absl::Milliseconds(100);
  size_t max_nodes = 64;  // registered, alive or not
  // How long the manager keeps the place of a member in a planned stop.
  absl::Duration away_limit = absl::Minutes(5);
  // How long a new leader drops no node: nodes must find it first, and a call
  // to a hanging manager takes time (AgentOptions).
  absl::Duration takeover_grace = absl::Milliseconds(500);
  std::string address;  // of this manager, for messages; "": unknown

  absl::Duration lease() const { return failure_timeout * kLeaseShare; }
  // How long a new leader waits for nodes that it has not heard.
  absl::Duration TimeToBeFound() const {
    return std::max(failure_timeout, takeover_grace);
  }
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_MANAGER_OPTIONS_H_
