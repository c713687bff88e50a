// The answer of a manager that does not lead, to nodes and operators.
// (kamino.v1.ErrorDetail names a chain's head and tail.)
#ifndef KAMINO_RPC_REDIRECT_H_
#define KAMINO_RPC_REDIRECT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/chain_id.h"

namespace kamino::rpc {

// kUnavailable, with a NotLeaderDetail. `leader`: host:port; "": unknown.
// `chain_id`: of the answering manager.
absl::Status NotLeader(const std::string& leader,
                       ChainId chain_id = kOnlyChain);

// Removes the address from such an answer, for callers that need another
// service than the one there. Other statuses stay as they are.
absl::Status WithoutLeader(absl::Status status);
// Replaces the port in such an answer by that of the needed service.
absl::Status WithLeadersPort(absl::Status status, int port);

// The leader in such an answer. Nothing: another status.
std::optional<std::string> LeaderIn(const absl::Status& status);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_REDIRECT_H_
