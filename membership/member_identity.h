// Whose certificate a node shows to other nodes and to managers.
#ifndef KAMINO_MEMBERSHIP_MEMBER_IDENTITY_H_
#define KAMINO_MEMBERSHIP_MEMBER_IDENTITY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "membership/view.h"

namespace kamino::membership {

// Of the node of that id, as a URI (security/identity.h).
std::string NodeIdentity(absl::string_view cluster_id,
                         absl::string_view node_id);

// Whom a link with the member is had with: what the view has, or, where that
// does not say, the identity that a node of its id has to have.
std::string IdentityOf(absl::string_view cluster_id, const Member& member);

// kPermissionDenied: `identity`, which a call came with, is not that of the
// node that the call speaks of. OK in the clear ("").
absl::Status CheckCaller(absl::string_view cluster_id,
                         absl::string_view node_id, absl::string_view identity);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MEMBER_IDENTITY_H_
