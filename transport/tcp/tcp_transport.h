// Links over TCP, for hosts that share no memory and have no RDMA.
#ifndef KAMINO_TRANSPORT_TCP_TCP_TRANSPORT_H_
#define KAMINO_TRANSPORT_TCP_TCP_TRANSPORT_H_

#include "transport/link.h"

namespace kamino::transport {

// Addresses: host:port, [v6 address]:port; an empty host listens on all
// addresses, port 0 picks one.
TransportFactory TcpTransports();

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_TCP_TCP_TRANSPORT_H_
