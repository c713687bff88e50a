// Ends of links over RDMA, as clients and nodes tell each other of them.
#ifndef KAMINO_RPC_QUEUE_PAIR_H_
#define KAMINO_RPC_QUEUE_PAIR_H_

#include "absl/status/statusor.h"
#include "kamino/v1/session.pb.h"
#include "transport/verbs/rendezvous.h"

namespace kamino::rpc {

// Without rings, token and era, which it has no room for.
kamino::v1::QueuePair ToProto(const transport::VerbsEndpoint& from);

// kFailedPrecondition: it makes no sense.
absl::StatusOr<transport::VerbsEndpoint> FromProto(
    const kamino::v1::QueuePair& from);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_QUEUE_PAIR_H_
