#include "membership/member_identity.h"

#include "absl/strings/str_cat.h"
#include "security/identity.h"

namespace kamino::membership {

std::string NodeIdentity(absl::string_view cluster_id,
                         absl::string_view node_id) {
  return security::ToString({.cluster = std::string(cluster_id),
                             .role = security::Role::kNode,
                             .name = std::string(node_id)});
}

std::string IdentityOf(absl::string_view cluster_id, const Member& member) {
  return member.identity.empty() ? NodeIdentity(cluster_id, member.node_id)
                                 : member.identity;
}

absl::Status CheckCaller(absl::string_view cluster_id,
                         absl::string_view node_id,
                         absl::string_view identity) {
  if (identity.empty()) return absl::OkStatus();
  const std::string own = NodeIdentity(cluster_id, node_id);
  if (identity == own) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      identity, " calls as node ", node_id, ", which needs the certificate of ",
      own, "; the name in a node's certificate is its --node_id"));
}

}  // namespace kamino::membership
