#include "node/link_admission.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "security/identity.h"
#include "security/roles.h"

namespace kamino::node {
namespace {

// Links that one listener accepts from an address
// (TransportOptions::max_accepted is 64). A node has one with its successor,
// one with the head if it is the tail, and one while it joins; dead links that
// are not noticed yet count, too. All nodes may be on one machine.
constexpr int kMostOfAddress = 48;
constexpr int kMostOfIdentity = 8;

// Handshakes per second, at a millisecond of the core thread each: a fifth of
// it for all strangers, a tenth for an address.
constexpr transport::ComeRate kCome = {200, 400};
constexpr transport::ComeRate kComeOfAddress = {100, 200};

}  // namespace

void BoundLinks(transport::TransportOptions* options) {
  options->max_of_address = kMostOfAddress;
  options->max_of_identity = kMostOfIdentity;
  if (options->certificates == nullptr) return;
  options->come = kCome;
  options->come_of_address = kComeOfAddress;
}

std::function<absl::Status(const std::string&)> AdmitNodes(
    std::string cluster_id, std::shared_ptr<security::Access> access) {
  return [cluster_id = std::move(cluster_id),
          access = std::move(access)](const std::string& identity) {
    const auto who = security::IdentityFromUri(identity);
    if (!who.has_value() || who->cluster != cluster_id) {
      return absl::PermissionDeniedError(
          absl::StrCat("chain links require an identity of cluster ",
                       cluster_id, ", not \"", identity, "\""));
    }
    const security::RoleSet roles = access == nullptr
                                        ? security::RoleSet({who->role})
                                        : access->GrantOf(*who)->roles;
    if (roles.Has(security::Role::kNode)) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat(
        "chain links require the role node; ", identity, " has ",
        roles.empty() ? "" : "the role ", security::ToString(roles)));
  };
}

}  // namespace kamino::node
