// Whether other machines can reach what a node listens on: judged by the
// addresses that were bound, as a name may stand for 127.0.1.1 on its own
// machine and for another address everywhere else.
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

// kInvalidArgument, with the flag: what it names is bound to loopback, and
// other machines are to reach it, as clients reach this node from there, or
// not all managers are on this machine by `is_local`.
absl::Status CheckReachable(const NodeFlags& flags, const BoundAddresses& bound,
                            const std::function<bool(const std::string& host)>&
                                is_local = IsOfThisMachine);

}  // namespace kamino::node

#endif  // KAMINO_NODE_REACHABLE_H_
