// The flag --roles, a server's file of grants.
#ifndef KAMINO_SECURITY_ROLE_FLAGS_H_
#define KAMINO_SECURITY_ROLE_FLAGS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "config/reload.h"
#include "security/access.h"
#include "security/certificates.h"

namespace kamino::security {

// The roles of --roles, read again at SIGHUP. Connections of identities whose
// grants change are ended; their clients reconnect with the new grants.
class FlaggedRoles {
 public:
  // `certificates` may be null: then there is no authentication and no Access.
  // kInvalidArgument: the file of --roles is invalid, or --roles is set without
  // certificates.
  static absl::StatusOr<FlaggedRoles> Open(
      std::shared_ptr<Certificates> certificates);

  const std::shared_ptr<Access>& access() const { return access_; }

 private:
  std::shared_ptr<Access> access_;
  config::Reloads::Registration registration_;
};

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_ROLE_FLAGS_H_
