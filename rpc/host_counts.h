// Connections that a server has taken, by the hosts that they are from: so that
// one host does not keep out all others.
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

// One thread's. Nobody says when a connection ends: gRPC has the descriptors.
// So it is looked at those of a host when that seems to have too many.
class HostCounts {
 public:
  struct Limits {
    int connections;  // of one host; 0: as many as it likes
    // Of one host, on which a handshake may be under way: taken not longer ago
    // than that, and not known. 0: as many as it likes.
    int half_open = 0;
    absl::Duration handshake = absl::Seconds(10);
    // To look at all of a host's takes longer than to take one: what was found
    // full is full for so long, lest the others wait for it.
    absl::Duration full = absl::Milliseconds(50);
  };
  // Whether the handshake of that connection is over, by its peer's host:port.
  // Null: none is known to be.
  using Known = std::function<bool(const std::string& address)>;

  explicit HostCounts(Limits limits) : limits_(limits) {}

  enum class Verdict { kTaken, kTooMany, kTooManyHalfOpen };
  // Whether one more, at `now`, may be taken; if so, it is.
  Verdict Take(int descriptor, const sockaddr_storage& peer, absl::Time now);

  void SetKnown(Known known) { known_ = std::move(known); }

  size_t hosts() const { return hosts_.size(); }

 private:
  // The number in the file system tells whether the descriptor is still of the
  // same socket.
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
  size_t most_hosts_ = 1024;  // before it is looked which have left
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_HOST_COUNTS_H_
