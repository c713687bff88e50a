// The clusters' uuids (rpc/cluster_identity.h) in the metadata of calls.
#ifndef KAMINO_RPC_CLUSTER_CALLS_H_
#define KAMINO_RPC_CLUSTER_CALLS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "grpcpp/client_context.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/client_interceptor.h"
#include "rpc/cluster_identity.h"

namespace kamino::rpc {

// How every method of a service begins: names the server's cluster in the
// answer, and judges the one that the request names (CheckAsked). The method
// answers with the error and does nothing else. Once a call.
absl::Status MeetCaller(const ClusterIdentity& cluster,
                        grpc::CallbackServerContext* context,
                        bool counts_unnamed = true);

// What the answer to a call names; "": nothing. After the call's end.
std::string ClusterUuidIn(const grpc::ClientContext& context);

// Has every call of a channel name the cluster, once it is known. A call that a
// server of another cluster answers ends with OtherCluster, whatever it says.
// `address`: of the channel, for errors.
std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>
NameCluster(std::shared_ptr<const ClusterIdentity> cluster,
            std::string address);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CLUSTER_CALLS_H_
