// The identity in a certificate.
//
// A certificate names one holder in its subject alternative names, as a URI
//   kamino://CLUSTER/ROLE/NAME
// or, if an issuer cannot add URIs, as a DNS name
//   NAME.ROLE.CLUSTER.kamino
// The role is one of those below. Other alternative names, for example of
// hosts, and the subject's common name do not matter. A certificate with two
// holders has no identity. CLUSTER and NAME consist of at most 64 letters,
// digits, '_', '-' and '.'; in a DNS name without dots.
#ifndef KAMINO_SECURITY_IDENTITY_H_
#define KAMINO_SECURITY_IDENTITY_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "openssl/types.h"

namespace kamino::security {

enum class Role { kNode, kManager, kOperator, kWriter, kReader };
inline constexpr Role kRoles[] = {Role::kNode, Role::kManager, Role::kOperator,
                                  Role::kWriter, Role::kReader};

// As in identities: "node", "manager", "operator", "writer", "reader".
absl::string_view RoleName(Role role);
std::optional<Role> RoleNamed(absl::string_view name);

struct Identity {
  std::string cluster;
  Role role = Role::kReader;
  std::string name;

  friend bool operator==(const Identity& a, const Identity& b) {
    return a.cluster == b.cluster && a.role == b.role && a.name == b.name;
  }
  friend bool operator!=(const Identity& a, const Identity& b) {
    return !(a == b);
  }
};

// As a URI, even if the certificate has a DNS name.
std::string ToString(const Identity& identity);
// kInvalidArgument: not valid in a certificate.
absl::Status CheckIdentity(const Identity& identity);

// Accepts both forms. Nothing: neither.
std::optional<Identity> IdentityFromUri(absl::string_view uri);
std::optional<Identity> IdentityFromDnsName(absl::string_view name);

// kUnauthenticated: the certificate names no holder, or several.
absl::StatusOr<Identity> IdentityIn(const X509& certificate);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_IDENTITY_H_
