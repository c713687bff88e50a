// Ends a unary call that this process serves.
#ifndef KAMINO_RPC_ANSWER_H_
#define KAMINO_RPC_ANSWER_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "grpcpp/support/server_callback.h"
#include "rpc/call_counts.h"
#include "rpc/status.h"

namespace kamino::rpc {

// Counts the call as served, from `began` on (MonotonicNow). `Request`: the
// method's request or response message, as MethodOf expects.
template <typename Request>
void Finish(grpc::ServerUnaryReactor* reactor, absl::Time began,
            const absl::Status& status) {
  CountServed<Request>(status.raw_code(), MonotonicNow() - began);
  reactor->Finish(ToGrpc(status));
}

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_ANSWER_H_
