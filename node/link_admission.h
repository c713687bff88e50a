// Whom this node has chain links with, by their certificates: nodes of its
// cluster, while they may act as such. Which of them is which member the
// chain's protocol asks itself (replica/handshake.h).
#ifndef KAMINO_NODE_LINK_ADMISSION_H_
#define KAMINO_NODE_LINK_ADMISSION_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "security/access.h"

namespace kamino::node {

// For TransportOptions::admit. kPermissionDenied. `access`: who has which role;
// null: what certificates say.
std::function<absl::Status(const std::string& identity)> AdmitNodes(
    std::string cluster_id, std::shared_ptr<security::Access> access);

}  // namespace kamino::node

#endif  // KAMINO_NODE_LINK_ADMISSION_H_
