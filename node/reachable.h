// Checks whether other machines can reach a node's listeners. It judges the
// addresses that were bound, because a name may stand for 127.0.1.1 on its own
// machine and for another address on all others.
#ifndef KAMINO_NODE_REACHABLE_H_
#define KAMINO_NODE_REACHABLE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "node/node_flags.h"

namespace kamino::node {

struct BoundAddresses {
  std::vector<std::string> service;  // --listen; host:port each, in numbers
  std::vector<std::string> links;    // --link_listen
  std::vector<std::string> peers;    // --peer_listen; empty: there is none
};

// Whether `host`, a name or a number, is an address of this machine. May block
// for as long as a name server takes.
bool IsOfThisMachine(const std::string& host);

// kInvalidArgument, with the flag: its address is bound to loopback although
// other machines must reach it, because clients on other machines use this
// node, or some manager is not on this machine according to `is_local`.
absl::Status CheckReachable(const NodeFlags& flags, const BoundAddresses& bound,
                            const std::function<bool(const std::string& host)>&
                                is_local = IsOfThisMachine);

}  // namespace kamino::node

#endif  // KAMINO_NODE_REACHABLE_H_
