// The Transport over stream sockets; what differs between address families is
// a SocketProtocol.
#ifndef KAMINO_TRANSPORT_SOCKET_SOCKET_TRANSPORT_H_
#define KAMINO_TRANSPORT_SOCKET_SOCKET_TRANSPORT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "transport/link.h"
#include "transport/socket/socket_link.h"

namespace kamino::transport {

// Stateless except for options; called from any thread.
class SocketProtocol {
 public:
  virtual ~SocketProtocol() = default;

  struct Bound {
    UniqueFd socket;  // non-blocking, listening
    std::string address;
    std::function<void()> release;  // after the socket is closed; may be empty
  };
  // May block, for example to look a name up.
  virtual absl::StatusOr<Bound> Bind(const std::string& address) const = 0;

  // Never blocks: names are looked up later. kInvalidArgument: not an address.
  virtual absl::StatusOr<SocketTarget> TargetOf(
      const std::string& address) const = 0;

  virtual absl::StatusOr<std::shared_ptr<SocketLink>> NewConnector(
      std::shared_ptr<LinkContext> context, std::string peer) const = 0;

  // The link for an accepted socket that is still the caller's.
  struct Accepted {
    std::shared_ptr<SocketLink> link;
    std::string host;  // the peer's; "": this host
  };
  virtual Accepted NewAcceptor(std::shared_ptr<LinkContext> context,
                               int socket) const = 0;
};

absl::StatusOr<std::unique_ptr<Transport>> MakeSocketTransport(
    const TransportOptions& options, absl::Duration spin,
    std::shared_ptr<const SocketProtocol> protocol);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_SOCKET_TRANSPORT_H_
