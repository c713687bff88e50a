// Ends a call for which gRPC itself waits until the client receives what was
// sent. The handler cannot end it: its status would come after that.
#ifndef KAMINO_NODE_RPC_CALL_ENDER_H_
#define KAMINO_NODE_RPC_CALL_ENDER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "grpc/grpc.h"
#include "grpcpp/server_context.h"

namespace kamino::node {

// For CallLoad::AddAnswer, while the call is not over. The result may be called
// and destroyed at any time, on any thread. The client sees RESOURCE_EXHAUSTED
// and `why`, without details; the handler sees a cancelled call.
inline absl::AnyInvocable<void()> EnderOf(
    grpc::CallbackServerContext* context,
    std::string why =
        "the client has not taken for too long what this node answered; begin "
        "again, and read what comes") {
  struct Unref {
    void operator()(grpc_call* call) const { grpc_call_unref(call); }
  };
  grpc_call_ref(context->c_call());
  return [call = std::unique_ptr<grpc_call, Unref>(context->c_call()),
          why = std::move(why)] {
    grpc_call_cancel_with_status(call.get(), GRPC_STATUS_RESOURCE_EXHAUSTED,
                                 why.c_str(), nullptr);
  };
}

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_CALL_ENDER_H_
