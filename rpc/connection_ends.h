// Ends connections whose peers are no longer trusted. gRPC (1.51) cannot end
// them: each is found among the process's descriptors by its two addresses, and
// its socket is shut down.
#ifndef KAMINO_RPC_CONNECTION_ENDS_H_
#define KAMINO_RPC_CONNECTION_ENDS_H_

#include <sys/socket.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace kamino::rpc {

// Converts ServerContext::peer() to the host:port that this file uses; "": not
// an IP peer.
std::string AddressOfPeer(absl::string_view peer);
// The same for a socket's address.
std::string AddressOf(const sockaddr_storage& address);

// The peers of all connections to a local port.
absl::flat_hash_set<std::string> PeersOf(int local_port);

// Counters of one IP connection of the process.
struct Traffic {
  int local_port;
  std::string peer;
  uint64_t bytes_received;  // so far
};
std::vector<Traffic> TrafficNow();

// Thread-safe.
class ConnectionEnds {
 public:
  // A server's connection: that from `address` to `local_port`.
  void AddPeer(int local_port, const std::string& address);
  // A channel's connections: all to host:port, by name or number.
  void AddTarget(const std::string& target);

  // Ends the connections added since the last call. May wait for a name lookup.
  void End();

 private:
  absl::Mutex mutex_;
  std::set<std::pair<int, std::string>> peers_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> targets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CONNECTION_ENDS_H_
