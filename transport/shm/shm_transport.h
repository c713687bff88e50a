// Links between processes of one host, over rings in shared memory.
#ifndef KAMINO_TRANSPORT_SHM_SHM_TRANSPORT_H_
#define KAMINO_TRANSPORT_SHM_SHM_TRANSPORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "transport/link.h"

namespace kamino::transport {

// `options` must be valid as MakeTransport defines it.
absl::StatusOr<std::unique_ptr<Transport>> MakeShmTransport(
    const TransportOptions& options);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SHM_SHM_TRANSPORT_H_
