// Links over RDMA queue pairs for peers that must not have a key to this side's
// memory: they send into buffers that all links of a transport share.
#ifndef KAMINO_TRANSPORT_VERBS_SEND_TRANSPORT_H_
#define KAMINO_TRANSPORT_VERBS_SEND_TRANSPORT_H_

#include "transport/link.h"
#include "transport/verbs/verbs_setup.h"

namespace kamino::transport {

// Addresses are the rendezvous's; both ends must be of this kind. A transport
// has at most TransportOptions::max_accepted links, made or accepted, with 192
// KiB of locked memory each, which it keeps; a link accepts send_buffer bytes.
// The transport cuts off a peer that exceeds its credit or makes no progress
// for peer_timeout, and the link with the oldest message if too many are
// unfinished.
TransportFactory VerbsSendTransports(VerbsSetup setup);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_SEND_TRANSPORT_H_
