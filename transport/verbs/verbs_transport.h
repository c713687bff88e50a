// Links over RDMA queue pairs.
#ifndef KAMINO_TRANSPORT_VERBS_VERBS_TRANSPORT_H_
#define KAMINO_TRANSPORT_VERBS_VERBS_TRANSPORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "transport/link.h"
#include "transport/verbs/device.h"

namespace kamino::transport {

// `options` must be valid as MakeTransport defines it. Addresses are the
// rendezvous's. kInvalidArgument: options.verbs has no rendezvous. A device is
// looked for when a link needs one, and again after it was lost.
absl::StatusOr<std::unique_ptr<Transport>> MakeVerbsTransport(
    const TransportOptions& options, std::shared_ptr<VerbsApi> api);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_VERBS_TRANSPORT_H_
