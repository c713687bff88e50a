#include "membership/manager/manager_service.h"

#include "base/clock.h"
#include "rpc/answer.h"
#include "rpc/call_guard.h"
#include "rpc/cluster_calls.h"

namespace kamino::membership {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using kamino::internal::v1::HeartbeatRequest;
using kamino::internal::v1::RegisterRequest;

ServerUnaryReactor* ManagerService::Register(
    CallbackServerContext* context, const RegisterRequest* request,
    kamino::internal::v1::RegisterResponse* response) {
  const absl::Time began = MonotonicNow();
  ServerUnaryReactor* reactor = context->DefaultReactor();
  // Not refused here: the manager checks the report, and records the nodes that
  // it refuses.
  (void)rpc::MeetCaller(manager_->cluster(), context, /*counts_unnamed=*/false);
  rpc::Finish<RegisterRequest>(
      reactor, began,
      manager_->Register(*request, response, rpc::IdentityOf(*context)));
  return reactor;
}

ServerUnaryReactor* ManagerService::Heartbeat(
    CallbackServerContext* context, const HeartbeatRequest* request,
    kamino::internal::v1::HeartbeatResponse* response) {
  const absl::Time began = MonotonicNow();
  ServerUnaryReactor* reactor = context->DefaultReactor();
  // A node without a cluster names none.
  absl::Status heard = rpc::MeetCaller(manager_->cluster(), context,
                                       /*counts_unnamed=*/false);
  if (heard.ok()) {
    heard = manager_->Heartbeat(*request, response, rpc::IdentityOf(*context));
  }
  rpc::Finish<HeartbeatRequest>(reactor, began, heard);
  return reactor;
}

}  // namespace kamino::membership
