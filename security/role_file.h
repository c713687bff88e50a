// The operators' file of grants, in TOML.
//
//   others = "nothing"    # or "by certificate", which is the default
//
//   [[grant]]
//   identity = "kamino://prod/writer/billing-*"
//   roles = ["writer"]
//   prefixes = ["billing/", "shared/"]   # left out: all keys
//
// docs/operate/security.md explains it.
#ifndef KAMINO_SECURITY_ROLE_FILE_H_
#define KAMINO_SECURITY_ROLE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "security/roles.h"

namespace kamino::security {

inline constexpr size_t kMaxGrants = 10000;
inline constexpr size_t kMaxPrefixes = 1000;  // of one grant

// kInvalidArgument, "path:line: why": the file cannot be read, or is invalid.
absl::StatusOr<RoleMap> ReadRoleFile(const std::string& path);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_ROLE_FILE_H_
