#include "security/role_flags.h"

#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "security/role_file.h"

ABSL_FLAG(std::string, roles, "",
          "File (TOML) with roles of identities, in place of those that their "
          "certificates name (docs/operate/security.md). Read again at "
          "SIGHUP.");

namespace kamino::security {
namespace {

absl::Status ChangedFor(const Certificate& peer, const RoleMap& before,
                        const RoleMap& now) {
  const Identity& who = peer.identity();
  if (before.GrantOf(who) == now.GrantOf(who)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "the access of ", ToString(who), " has changed; it may connect again"));
}

}  // namespace

absl::StatusOr<FlaggedRoles> FlaggedRoles::Open(
    std::shared_ptr<Certificates> certificates) {
  FlaggedRoles roles;
  const std::string file = absl::GetFlag(FLAGS_roles);
  if (certificates == nullptr) {
    if (file.empty()) return roles;
    return absl::InvalidArgumentError(
        "--roles needs --tls_cert, --tls_key and --tls_ca: without them "
        "callers have no identity");
  }
  ASSIGN_OR_RETURN(auto access, Access::Open(file));
  roles.access_ = std::move(access);
  roles.access_->OnChange(
      [certificates](const RoleMap& before, const RoleMap& now) {
        certificates->watches()->EndWatched([&](const Certificate& peer) {
          return ChangedFor(peer, before, now);
        });
      });
  roles.registration_ = config::Reloads::Get().Add(
      {"roles", {}, [access = roles.access_] { return access->Reload(); }});
  return roles;
}

}  // namespace kamino::security
