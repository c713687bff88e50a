// Who a certificate says its holder is.
//
// A certificate names one holder, in its subject alternative names: as a URI
//   kamino://CLUSTER/ROLE/NAME
// or, where an issuer gives none, as a DNS name
//   NAME.ROLE.CLUSTER.kamino
// The role is one of those below. Other alternative names, as of hosts, do not
// matter, nor does the subject's common name. A certificate of two holders is
// nobody's. CLUSTER and NAME are of letters, digits, '_', '-' and '.', at most
// 64 of them; as a DNS name without dots.
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

// As a URI, whichever way the certificate has it.
std::string ToString(const Identity& identity);
// kInvalidArgument: it cannot be in a certificate.
absl::Status CheckIdentity(const Identity& identity);

// Of either form. Nothing: it is neither.
std::optional<Identity> IdentityFromUri(absl::string_view uri);
std::optional<Identity> IdentityFromDnsName(absl::string_view name);

// kUnauthenticated: it names no holder, or more than one.
absl::StatusOr<Identity> IdentityIn(const X509& certificate);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_IDENTITY_H_
