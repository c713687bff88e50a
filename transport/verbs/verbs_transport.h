// Links over RDMA queue pairs.
#ifndef KAMINO_TRANSPORT_VERBS_VERBS_TRANSPORT_H_
#define KAMINO_TRANSPORT_VERBS_VERBS_TRANSPORT_H_

#include <memory>

#include "transport/link.h"
#include "transport/verbs/choose_port.h"
#include "transport/verbs/device.h"
#include "transport/verbs/rendezvous.h"

namespace kamino::transport {

// What links over verbs need to be made; none is null.
struct VerbsSetup {
  PortWish wish;
  std::shared_ptr<VerbsRendezvous> rendezvous;  // how ends find each other
  std::shared_ptr<VerbsApi> api;                // the host's devices
};

// Addresses are the rendezvous's. A device is looked for when a link needs one,
// and again after it was lost.
TransportFactory VerbsTransports(VerbsSetup setup);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_VERBS_TRANSPORT_H_
