// The flag by which a server knows who may do what: --roles.
#ifndef KAMINO_SECURITY_ROLE_FLAGS_H_
#define KAMINO_SECURITY_ROLE_FLAGS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "config/reload.h"
#include "security/access.h"
#include "security/certificates.h"

namespace kamino::security {

// Roles as the flags say, read again at SIGHUP: who then has another grant has
// its connections ended, and comes back with that.
class FlaggedRoles {
 public:
  // `certificates` may be null: then nobody is asked who he is, and there is no
  // access. kInvalidArgument: --roles names no good file, or there are no
  // certificates for it.
  static absl::StatusOr<FlaggedRoles> Open(
      std::shared_ptr<Certificates> certificates);

  const std::shared_ptr<Access>& access() const { return access_; }

 private:
  std::shared_ptr<Access> access_;
  config::Reloads::Registration registration_;
};

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_ROLE_FLAGS_H_
