// Counts a server's connections by peer host, so that one host cannot keep all
// others out.
#ifndef KAMINO_RPC_HOST_COUNTS_H_
#define KAMINO_RPC_HOST_COUNTS_H_

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

namespace kamino::rpc {

// For one thread. gRPC owns the descriptors and does not report the end of a
// connection, so a host's connections are checked when it seems to have too
// many.
class HostCounts {
 public:
  struct Limits {
    int connections;  // of one host; 0: no limit
    // Limit for one host of connections with a handshake possibly under way:
    // accepted less than that time ago, and not known. 0: no limit.
    int half_open = 0;
    absl::Duration handshake = absl::Seconds(10);
    // Checking all connections of a host takes longer than accepting one: a
    // host at its limit stays blocked for this time, so that others need not
    // wait.
    absl::Duration full = absl::Milliseconds(50);
  };
  // Whether the handshake of the connection from `address` has ended. Null: it
  // is never known.
  using Known = std::function<bool(const std::string& address)>;

  explicit HostCounts(Limits limits) : limits_(limits) {}

  enum class Verdict { kTaken, kTooMany, kTooManyHalfOpen };
  // Whether one more connection may be accepted at `now`; if so, counts it.
  Verdict Take(int descriptor, const sockaddr_storage& peer, absl::Time now);

  void SetKnown(Known known) { known_ = std::move(known); }

  size_t hosts() const { return hosts_.size(); }

 private:
  // The inode number tells whether the descriptor still belongs to the same
  // socket.
  struct Connection {
    int descriptor;
    uint64_t socket;
    absl::Time at;
    std::string address;  // of the peer
  };
  using Connections = std::deque<Connection>;  // oldest first
  struct OfHost {
    Connections connections;
    absl::Time full_until = absl::InfinitePast();
    Verdict full = Verdict::kTaken;
  };

  static void DropEnded(Connections* connections);
  int HalfOpen(const Connections& connections, absl::Time now) const;
  Verdict VerdictOn(OfHost* host, absl::Time now) const;
  void DropEndedHosts();

  const Limits limits_;
  Known known_;
  absl::flat_hash_map<std::string, OfHost> hosts_;
  size_t most_hosts_ = 1024;  // before hosts without connections are dropped
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_HOST_COUNTS_H_
