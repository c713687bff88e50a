// Takes connections for a gRPC server, and says how many there may be. gRPC
// itself does not bound them, and one failed accept, as when a process is out
// of descriptors for a moment, ends its listening for good (1.51, Debian's).
#ifndef KAMINO_RPC_ACCEPTOR_H_
#define KAMINO_RPC_ACCEPTOR_H_

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/log_limit.h"
#include "rpc/host_counts.h"

struct addrinfo;

namespace kamino::rpc {

class Acceptor {
 public:
  struct Options {
    // host:port; port 0 picks one. All addresses that the host has: 0.0.0.0 is
    // those of IPv4, [::] takes both.
    std::string listen;
    // A connection is refused when this process has that many descriptors open,
    // whatever they are of; or so many that only some are left of those it may
    // have. Links, files and the way to etcd need those.
    int max_descriptors = 4096;
    // How many of those are bounded elsewhere, and are not to keep connections
    // out: so many more may be open. Any thread. Null: none are.
    std::function<int()> bounded_elsewhere = nullptr;
    // And when its host has that many; 0: three quarters of the former.
    int max_of_host = 0;
    // Or so many of which a handshake is under way, as far as one can tell; 0:
    // there are no handshakes.
    int max_half_open_of_host = 0;
    // How long what a connection has sent may stay unacknowledged.
    absl::Duration user_timeout = absl::Seconds(5);
  };

  // Listens; connections wait. kInvalidArgument: that is not host:port.
  // kUnavailable: the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const Options& options);
  // Listens no more. What was taken is `take`'s.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  int port() const { return port_; }
  // Where it listens: host:port each, in numbers.
  std::vector<std::string> addresses() const;

  // From now on each connection is given to `take`, on a thread of this one's.
  // `known`: as HostCounts has it. Once.
  void Start(std::function<void(int descriptor)> take,
             HostCounts::Known known = nullptr);

 private:
  explicit Acceptor(const Options& options);
  // Of these two, false: a port that was picked for another address is in use
  // at this one.
  absl::StatusOr<bool> ListenOnAll(const addrinfo* first);
  absl::StatusOr<bool> ListenOn(const addrinfo& address);
  int MaxDescriptors() const;
  void Run();
  // Those that wait, up to a bound: what comes without end would keep it from
  // the others, and from its end. False: none can be taken just now, though
  // some may wait.
  bool AcceptAll(int listener);
  // What keeps it out; "": nothing.
  std::string WhyNot(int connection, const sockaddr_storage& peer);
  void Refuse(int connection, const std::string& why);

  const Options options_;
  std::vector<int> listeners_;  // of each address that the host has
  int port_ = 0;
  int wake_ = -1;  // readable when the thread is to end
  std::function<void(int)> take_;
  std::thread thread_;

  // The thread's only.
  HostCounts hosts_;
  LogLimit refusals_;
  int failed_ = 0;  // that could not be taken, in a row
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_ACCEPTOR_H_
