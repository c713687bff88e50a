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

// Every method of a service must call one of these first, once: it names the
// server's cluster in the answer, and checks the one that the request names. On
// an error the method returns it and does nothing else. MeetClient is for
// methods that read or change data (CheckServed), MeetCaller for the others
// (CheckAsked).
absl::Status MeetClient(const ClusterIdentity& cluster,
                        grpc::CallbackServerContext* context);
absl::Status MeetCaller(const ClusterIdentity& cluster,
                        grpc::CallbackServerContext* context,
                        bool counts_unnamed = true);

// The uuid that the answer to a call names; "": none. Call it after the call's
// end.
std::string ClusterUuidIn(const grpc::ClientContext& context);

// An interceptor that names the cluster in every call of a channel, once the
// cluster is known. A call that a server of another cluster answers ends with
// OtherCluster, whatever the answer. `address`: of the channel, for errors.
std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>
NameCluster(std::shared_ptr<const ClusterIdentity> cluster,
            std::string address);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CLUSTER_CALLS_H_
