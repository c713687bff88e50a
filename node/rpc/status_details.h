// Errors for clients: a gRPC status with google.rpc.Status details, which
// contain a kamino.v1.ErrorDetail and, if waiting helps, a RetryInfo.
#ifndef KAMINO_NODE_RPC_STATUS_DETAILS_H_
#define KAMINO_NODE_RPC_STATUS_DETAILS_H_

#include <string>

#include "absl/status/status.h"
#include "base/chain_id.h"
#include "grpcpp/support/status.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::node {

// OK stays OK. Completes the detail of `status` with the answering node and,
// unless the caller is of another cluster, with the addresses of head and tail
// in `chain`. `request` is the number of the call in log lines.
grpc::Status ToGrpcStatus(const absl::Status& status,
                          const kamino::v1::Chain& chain,
                          const std::string& node_id,
                          const std::string& request = "");

// Checks that chain `asked` in a request is `served`, this node's.
absl::Status CheckAsked(ChainId asked, ChainId served);

// The error for requests that arrive while the node stops.
absl::Status NodeStopping();

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_STATUS_DETAILS_H_
