// Links over TCP, for hosts that share no memory and have no RDMA.
#ifndef KAMINO_TRANSPORT_TCP_TCP_TRANSPORT_H_
#define KAMINO_TRANSPORT_TCP_TCP_TRANSPORT_H_

#include <memory>

#include "transport/link.h"
#include "transport/socket/resolver.h"

namespace kamino::transport {

struct TcpNames {
  // Looks names up for connectors. Null: the process's pool
  // (transport/socket/lookup_pool.h), which all such transports share.
  std::shared_ptr<Resolver> resolver;
  // When a lookup is late or fails, a link connects to the addresses of the
  // last good one. Another process may have these by now, so a user must check
  // on each link that its peer is the expected one, as nodes do with Hello.
  bool last_good = false;
};

// Addresses: as base/address.h; an empty host listens on all addresses, port 0
// picks one.
TransportFactory TcpTransports(TcpNames names = {});

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_TCP_TCP_TRANSPORT_H_
