// Ends connections that gRPC (1.51) has no way to end, as their peers are not
// believed any more: each is found among the process's descriptors, by its two
// addresses, and its socket shut down.
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

// host:port of a peer as this has it, of what ServerContext::peer() says; "":
// it is not one of IP.
std::string AddressOfPeer(absl::string_view peer);
// The same, of a socket's address.
std::string AddressOf(const sockaddr_storage& address);

// The peers of all connections to a port of this process.
absl::flat_hash_set<std::string> PeersOf(int local_port);

// Of each connection over IP that the process has.
struct Traffic {
  int local_port;
  std::string peer;
  uint64_t bytes_received;  // so far
};
std::vector<Traffic> TrafficNow();

// Thread-safe.
class ConnectionEnds {
 public:
  // Of a server: the connection from there to its port.
  void AddPeer(int local_port, const std::string& address);
  // Of channels: all connections to host:port, by name or by number.
  void AddTarget(const std::string& target);

  // Ends those that were added since. May wait for a name to be resolved.
  void End();

 private:
  absl::Mutex mutex_;
  std::set<std::pair<int, std::string>> peers_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> targets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CONNECTION_ENDS_H_
