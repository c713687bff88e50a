// What a manager answers that does not lead, to nodes and operators alike.
// (Where a chain's head and tail are is in kamino.v1.ErrorDetail.)
#ifndef KAMINO_RPC_REDIRECT_H_
#define KAMINO_RPC_REDIRECT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/chain_id.h"

namespace kamino::rpc {

// kUnavailable, with a NotLeaderDetail. `leader`: host:port; "" when nobody
// knows. `chain_id`: which chain's manager answers.
absl::Status NotLeader(const std::string& leader,
                       ChainId chain_id = kOnlyChain);

// Such an answer without the address, for those who would find another service
// there; other statuses as they are.
absl::Status WithoutLeader(absl::Status status);
// Such an answer with another port of the leader's, where that service is.
absl::Status WithLeadersPort(absl::Status status, int port);

// Of such an answer, `leader`. Nothing: the status is something else.
std::optional<std::string> LeaderIn(const absl::Status& status);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_REDIRECT_H_
