// Errors as clients get them: a gRPC status with google.rpc.Status details, in
// them a kamino.v1.ErrorDetail and, where waiting helps, a RetryInfo.
#ifndef KAMINO_NODE_RPC_STATUS_DETAILS_H_
#define KAMINO_NODE_RPC_STATUS_DETAILS_H_

#include <string>

#include "absl/status/status.h"
#include "base/chain_id.h"
#include "grpcpp/support/status.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::node {

// OK stays OK. The detail of `status` is completed with the node that answers
// and, unless the caller is of another cluster, with the addresses of head and
// tail in `chain`. `request` is the number that log lines of the call have.
grpc::Status ToGrpcStatus(const absl::Status& status,
                          const kamino::v1::Chain& chain,
                          const std::string& node_id,
                          const std::string& request = "");

// Whether a request that names chain `asked` is one for a node of `served`.
absl::Status CheckAsked(ChainId asked, ChainId served);

// What a request gets that comes while the node stops.
absl::Status NodeStopping();

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_STATUS_DETAILS_H_
