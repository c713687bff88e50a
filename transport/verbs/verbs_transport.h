// Links over RDMA queue pairs.
#ifndef KAMINO_TRANSPORT_VERBS_VERBS_TRANSPORT_H_
#define KAMINO_TRANSPORT_VERBS_VERBS_TRANSPORT_H_

#include "transport/link.h"
#include "transport/verbs/verbs_setup.h"

namespace kamino::transport {

// Addresses are the rendezvous's. The transport looks for a device when a link
// needs one, and again after it lost one.
TransportFactory VerbsTransports(VerbsSetup setup);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_VERBS_TRANSPORT_H_
