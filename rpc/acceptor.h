// Accepts connections for a gRPC server and limits their number. gRPC itself
// (1.51, Debian's) does not limit them, and stops listening permanently after
// one failed accept, for example when the process is out of descriptors for a
// moment.
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
#include "base/own_addresses.h"
#include "rpc/host_counts.h"

namespace kamino::rpc {

class Acceptor {
 public:
  struct Options {
    // host:port; port 0 picks one. Listens on all addresses of the host:
    // 0.0.0.0 is all of IPv4, [::] both families.
    std::string listen;
    // Refuses connections while this process has that many descriptors open, of
    // any kind, or is close to its own limit. Links, files and the connection
    // to etcd need the rest.
    int max_descriptors = 4096;
    // The number of open descriptors that have another limit and must not keep
    // connections out; the limit above rises by it. Any thread. Null: none.
    std::function<int()> bounded_elsewhere = nullptr;
    // Limit of connections from one host; 0: three quarters of the above.
    int max_of_host = 0;
    // Limit of connections from one host whose handshake is under way, as far
    // as known; 0: there are no handshakes.
    int max_half_open_of_host = 0;
    // How long sent data may stay unacknowledged.
    absl::Duration user_timeout = absl::Seconds(5);
  };

  // Listens; connections wait until Start. kInvalidArgument: not host:port.
  // kUnavailable: the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const Options& options);
  // Stops listening. `take` owns the accepted connections.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  int port() const { return port_; }
  // The listening addresses: numeric host:port each.
  std::vector<std::string> addresses() const;

  // Passes each connection to `take`, on a thread of this object. `known`: as
  // in HostCounts. Call once.
  void Start(std::function<void(int descriptor)> take,
             HostCounts::Known known = nullptr);

 private:
  explicit Acceptor(const Options& options);
  // Both return false if the port that was picked for another address is in use
  // at this one.
  absl::StatusOr<bool> ListenOnAll(const std::vector<OwnAddress>& addresses);
  absl::StatusOr<bool> ListenOn(const OwnAddress& address);
  int MaxDescriptors() const;
  void Run();
  // Accepts waiting connections, up to a limit: an endless stream at one
  // listener must not starve the others, nor the end. False: none can be
  // accepted now, although some may wait.
  bool AcceptAll(int listener);
  // Why the connection is refused; "": it is not.
  std::string WhyNot(int connection, const sockaddr_storage& peer);
  void Refuse(int connection, const std::string& why);

  const Options options_;
  std::vector<int> listeners_;  // one for each address of the host
  int port_ = 0;
  int wake_ = -1;  // becomes readable when the thread must end
  std::function<void(int)> take_;
  std::thread thread_;

  // Used by the thread only.
  HostCounts hosts_;
  LogLimit refusals_;
  int failed_ = 0;  // failed accepts in a row
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_ACCEPTOR_H_
