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
  // When a lookup is late or fails, a link goes to where the one before it has
  // led. Another process may be there by now: only for users who check on each
  // link that the peer is who it was opened to, as nodes do by Hello.
  bool last_good = false;
};

// Addresses: as base/address.h; an empty host listens on all addresses, port 0
// picks one.
TransportFactory TcpTransports(TcpNames names = {});

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_TCP_TCP_TRANSPORT_H_
