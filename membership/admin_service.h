// What operators ask of a manager, over gRPC (proto/kamino/v1/admin.proto).
#ifndef KAMINO_MEMBERSHIP_ADMIN_SERVICE_H_
#define KAMINO_MEMBERSHIP_ADMIN_SERVICE_H_

#include "absl/functional/function_ref.h"
#include "kamino/v1/admin.grpc.pb.h"
#include "membership/audit_log.h"
#include "membership/manager.h"

namespace kamino::membership {

// The cluster as its manager sees it; each node once: a member that was
// restarted since its view as the process it is now. All but the leader.
void Describe(const ManagerCore& core, absl::Time now,
              kamino::v1::GetClusterResponse* response);

class AdminService final : public kamino::v1::AdminService::CallbackService {
 public:
  struct Options {
    // Has a record of each call before it is answered; a call whose record
    // cannot be written fails. Outlives this. Null: there is none.
    AuditLog* audit = nullptr;
    // It is served where nodes do not come: so a manager that does not lead
    // cannot tell where the one that does serves operators, unless all of them
    // do it at one port, which is not 0 then.
    bool apart = false;
    int port_of_all = 0;
  };
  AdminService(Manager* manager, Options options)
      : manager_(manager), options_(options) {}
  explicit AdminService(Manager* manager) : AdminService(manager, Options()) {}

  grpc::ServerUnaryReactor* GetCluster(
      grpc::CallbackServerContext* context,
      const kamino::v1::GetClusterRequest* request,
      kamino::v1::GetClusterResponse* response) override;
  grpc::ServerUnaryReactor* RemoveNode(
      grpc::CallbackServerContext* context,
      const kamino::v1::RemoveNodeRequest* request,
      kamino::v1::AdminResponse* response) override;
  grpc::ServerUnaryReactor* Recover(
      grpc::CallbackServerContext* context,
      const kamino::v1::RecoverRequest* request,
      kamino::v1::RecoverResponse* response) override;
  grpc::ServerUnaryReactor* AddNode(
      grpc::CallbackServerContext* context,
      const kamino::v1::AddNodeRequest* request,
      kamino::v1::AdminResponse* response) override;
  grpc::ServerUnaryReactor* Finalize(
      grpc::CallbackServerContext* context,
      const kamino::v1::FinalizeRequest* request,
      kamino::v1::FinalizeResponse* response) override;
  grpc::ServerUnaryReactor* GetManager(
      grpc::CallbackServerContext* context,
      const kamino::v1::GetManagerRequest* request,
      kamino::v1::GetManagerResponse* response) override;

 private:
  // How every call begins: not OK, and it ends with that.
  template <typename Request>
  absl::Status Meet(grpc::CallbackServerContext* context,
                    const Request& request);
  // Fails while the call's line could not be written to the audit log.
  absl::Status Admit();
  absl::Status Administer(
      absl::FunctionRef<absl::Status(ManagerCore*, absl::Time)> request);
  // How every call ends. `waits`: until its line is written.
  template <typename Request>
  void End(grpc::CallbackServerContext* context, const Request& request,
           grpc::ServerUnaryReactor* reactor, absl::Time began,
           const absl::Status& status, bool waits);
  template <typename Request>
  grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context,
                                   const Request* request, absl::Time began,
                                   const absl::Status& status);

  Manager* const manager_;
  const Options options_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_ADMIN_SERVICE_H_
