// Transports of a node's links: those of the chain, and those of sessions.
#ifndef KAMINO_NODE_NODE_LINKS_H_
#define KAMINO_NODE_NODE_LINKS_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "node/driver/link_hub.h"
#include "node/node_flags.h"
#include "node/rpc/grpc_rendezvous.h"
#include "node/rpc/link_passes.h"
#include "node/rpc/session_service.h"
#include "node/session/session_links.h"

namespace kamino::node {

// Selects the transports, and logs why; the chosen one comes first.
// `rendezvous` sets verbs links up; with certificates `passes` authenticate
// those in shared memory. kFailedPrecondition: the transport in --transport is
// not available.
absl::Status ChooseTransports(const NodeFlags& flags,
                              std::shared_ptr<GrpcRendezvous> rendezvous,
                              const std::shared_ptr<LinkPasses>& passes,
                              LinkHub::Options* links);

// `service` sets up links over verbs, and issues passes for shm. Best first.
std::vector<SessionLinks::Offer> SessionOffers(const NodeFlags& flags,
                                               const SessionService& service);

}  // namespace kamino::node

#endif  // KAMINO_NODE_NODE_LINKS_H_
