// What the requests of sessions ask of a node, in its own terms. Keeps nothing.
#ifndef KAMINO_NODE_SESSION_SESSION_REQUESTS_H_
#define KAMINO_NODE_SESSION_SESSION_REQUESTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "head/request.h"
#include "node/driver/chain_node.h"
#include "proto/session_frame.h"
#include "replica/log_entry.h"

namespace kamino::node {

// Of a request for which session::IsMutation holds; the session's id is left to
// be filled in. REASON_INVALID_ARGUMENT: it is none that a node takes.
absl::StatusOr<replica::Mutation> ToMutation(const session::Request& request);

// Body of the response to a mutation with that outcome, which is OK.
absl::StatusOr<std::string> ToResponse(session::Method method,
                                       head::RequestOutcome outcome);

// Body of the response to a GET or BATCH_GET. Errors as ChainNode::Read's.
absl::Status ReadFor(const session::Request& request, ChainNode& node,
                     std::string* body);

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_SESSION_REQUESTS_H_
