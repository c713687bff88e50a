// Whom this node has chain links with, by their certificates: nodes of its
// cluster, while they may act as such; and how much of a listener one of them,
// or a stranger, may take. Which of them is which member the chain's protocol
// asks itself (replica/handshake.h).
#ifndef KAMINO_NODE_LINK_ADMISSION_H_
#define KAMINO_NODE_LINK_ADMISSION_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "security/access.h"
#include "transport/link.h"

namespace kamino::node {

// For TransportOptions::admit. kPermissionDenied. `access`: who has which role;
// null: what certificates say.
std::function<absl::Status(const std::string& identity)> AdmitNodes(
    std::string cluster_id, std::shared_ptr<security::Access> access);

// Bounds what comes to a listener of chain links by address, by identity, and,
// where there are `options->certificates`, in time.
void BoundLinks(transport::TransportOptions* options);

}  // namespace kamino::node

#endif  // KAMINO_NODE_LINK_ADMISSION_H_
