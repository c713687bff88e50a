// Which peers may have chain links with this node, by their certificates: nodes
// of its cluster, while that is allowed; and how much of a listener one of
// them, or a stranger, may use. The chain's protocol itself checks which member
// a peer is (replica/link/handshake.h).
#ifndef KAMINO_NODE_LINK_ADMISSION_H_
#define KAMINO_NODE_LINK_ADMISSION_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "security/access.h"
#include "transport/link.h"

namespace kamino::node {

// For TransportOptions::admit. kPermissionDenied. `access`: which identity has
// which role; null: as certificates say.
std::function<absl::Status(const std::string& identity)> AdmitNodes(
    std::string cluster_id, std::shared_ptr<security::Access> access);

// Limits peers at a listener of chain links by address, by identity, and, with
// `options->certificates`, in time.
void BoundLinks(transport::TransportOptions* options);

}  // namespace kamino::node

#endif  // KAMINO_NODE_LINK_ADMISSION_H_
