#include "membership/manager_service.h"

#include <optional>
#include <string>

#include "google/rpc/status.pb.h"

namespace kamino::membership {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using kamino::internal::v1::NotLeaderDetail;

grpc::Status ToGrpc(const absl::Status& status,
                    const std::optional<std::string>& leader) {
  if (status.ok()) return grpc::Status::OK;
  const auto code = static_cast<grpc::StatusCode>(status.code());
  const std::string message(status.message());
  if (!leader.has_value()) return grpc::Status(code, message);
  NotLeaderDetail detail;
  detail.set_leader_address(*leader);
  google::rpc::Status details;
  details.set_code(code);
  details.set_message(message);
  details.add_details()->PackFrom(detail);
  return grpc::Status(code, message, details.SerializeAsString());
}

}  // namespace

ServerUnaryReactor* ManagerService::Register(
    CallbackServerContext* context,
    const kamino::internal::v1::RegisterRequest* request,
    kamino::internal::v1::RegisterResponse* response) {
  std::optional<std::string> leader;
  absl::Status status = manager_->Register(*request, response, &leader);
  ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status, leader));
  return reactor;
}

ServerUnaryReactor* ManagerService::Heartbeat(
    CallbackServerContext* context,
    const kamino::internal::v1::HeartbeatRequest* request,
    kamino::internal::v1::HeartbeatResponse* response) {
  std::optional<std::string> leader;
  absl::Status status = manager_->Heartbeat(*request, response, &leader);
  ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status, leader));
  return reactor;
}

ServerUnaryReactor* ManagerService::GetMembership(
    CallbackServerContext* context,
    const kamino::internal::v1::GetMembershipRequest* request,
    kamino::internal::v1::GetMembershipResponse* response) {
  std::optional<std::string> leader;
  absl::Status status = manager_->Describe(*request, response, &leader);
  ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status, leader));
  return reactor;
}

}  // namespace kamino::membership
