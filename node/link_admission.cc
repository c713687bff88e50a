#include "node/link_admission.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "security/identity.h"
#include "security/roles.h"

namespace kamino::node {

std::function<absl::Status(const std::string&)> AdmitNodes(
    std::string cluster_id, std::shared_ptr<security::Access> access) {
  return [cluster_id = std::move(cluster_id),
          access = std::move(access)](const std::string& identity) {
    const auto who = security::IdentityFromUri(identity);
    if (!who.has_value() || who->cluster != cluster_id) {
      return absl::PermissionDeniedError(
          absl::StrCat(identity, " is nobody of cluster ", cluster_id));
    }
    const security::RoleSet roles = access == nullptr
                                        ? security::RoleSet({who->role})
                                        : access->GrantOf(*who)->roles;
    if (roles.Has(security::Role::kNode)) return absl::OkStatus();
    return absl::PermissionDeniedError(
        absl::StrCat("chain links are for who is node; ", identity, " is ",
                     security::ToString(roles)));
  };
}

}  // namespace kamino::node
