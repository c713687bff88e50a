// kamino.internal.v1.MembershipService, on gRPC's callback API.
#ifndef KAMINO_MEMBERSHIP_MANAGER_MANAGER_SERVICE_H_
#define KAMINO_MEMBERSHIP_MANAGER_MANAGER_SERVICE_H_

#include "kamino/internal/v1/membership.grpc.pb.h"
#include "membership/manager/manager.h"

namespace kamino::membership {

// Thread-safe. Runs on gRPC's threads, without waiting.
class ManagerService final
    : public kamino::internal::v1::MembershipService::CallbackService {
 public:
  explicit ManagerService(Manager* manager) : manager_(manager) {}

  grpc::ServerUnaryReactor* Register(
      grpc::CallbackServerContext* context,
      const kamino::internal::v1::RegisterRequest* request,
      kamino::internal::v1::RegisterResponse* response) override;
  grpc::ServerUnaryReactor* Heartbeat(
      grpc::CallbackServerContext* context,
      const kamino::internal::v1::HeartbeatRequest* request,
      kamino::internal::v1::HeartbeatResponse* response) override;

 private:
  Manager* const manager_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_MANAGER_SERVICE_H_
