// Translates session requests to the node's terms. Keeps no state.
#ifndef KAMINO_NODE_SESSION_SESSION_REQUESTS_H_
#define KAMINO_NODE_SESSION_SESSION_REQUESTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"
#include "head/request.h"
#include "kamino/v1/kamino.pb.h"
#include "node/driver/chain_node.h"
#include "proto/session_frame.h"
#include "replica/log/log_entry.h"

namespace kamino::node {

// For a request for which session::IsMutation holds; the caller fills the
// session's id in. REASON_INVALID_ARGUMENT: a node does not accept it. Sets
// `*keys` to the number of keys that it names, except for a call, which names
// none.
absl::StatusOr<replica::Mutation> ToMutation(const session::Request& request,
                                             int* keys);

// The response's body for a mutation with that outcome, which is OK.
absl::StatusOr<std::string> ToResponse(session::Method method,
                                       head::RequestOutcome outcome);

// The response to a GET or BATCH_GET: `message` is one of the two.
struct ReadAnswer {
  kamino::v1::GetResponse one;
  kamino::v1::BatchGetResponse many;
  const google::protobuf::MessageLite* message = nullptr;
};
// Errors as NodeReads::Read's.
absl::Status ReadFor(const session::Request& request, const KeyScope* scope,
                     ChainNode& node, ReadAnswer* answer);

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_SESSION_REQUESTS_H_
