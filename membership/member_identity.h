// The identity of a member's certificate.
#ifndef KAMINO_MEMBERSHIP_MEMBER_IDENTITY_H_
#define KAMINO_MEMBERSHIP_MEMBER_IDENTITY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "membership/view.h"

namespace kamino::membership {

// The identity of the node with that id, as a URI (security/identity.h).
std::string NodeIdentity(absl::string_view cluster_id,
                         absl::string_view node_id);

// The identity required at the other end of a link to the member: that in the
// view or, if the view has none, the one for its node id.
std::string IdentityOf(absl::string_view cluster_id, const Member& member);

// kPermissionDenied: `identity`, the caller's, is not that of the node that the
// call names. OK without certificates ("").
absl::Status CheckCaller(absl::string_view cluster_id,
                         absl::string_view node_id, absl::string_view identity);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MEMBER_IDENTITY_H_
