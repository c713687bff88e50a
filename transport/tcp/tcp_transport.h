// Links over TCP, for hosts that share no memory and have no RDMA.
#ifndef KAMINO_TRANSPORT_TCP_TCP_TRANSPORT_H_
#define KAMINO_TRANSPORT_TCP_TCP_TRANSPORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "transport/link.h"

namespace kamino::transport {

// `options` must be valid as MakeTransport defines it.
absl::StatusOr<std::unique_ptr<Transport>> MakeTcpTransport(
    const TransportOptions& options);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_TCP_TCP_TRANSPORT_H_
