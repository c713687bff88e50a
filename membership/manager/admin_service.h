// The operators' interface to a manager, over gRPC
// (proto/kamino/v1/admin.proto).
#ifndef KAMINO_MEMBERSHIP_MANAGER_ADMIN_SERVICE_H_
#define KAMINO_MEMBERSHIP_MANAGER_ADMIN_SERVICE_H_

#include <functional>

#include "absl/functional/function_ref.h"
#include "kamino/v1/admin.grpc.pb.h"
#include "logs/audit_thread.h"
#include "membership/manager/manager.h"
#include "server/audit_log.h"

namespace kamino::membership {

// The cluster as its manager sees it, except the leader. Each node appears
// once; a member that was restarted since its view appears as its present
// process.
void Describe(const ManagerCore& core, absl::Time now,
              kamino::v1::GetClusterResponse* response);

class AdminService final : public kamino::v1::AdminService::CallbackService {
 public:
  struct Options {
    // Records each call before it is answered; a call whose record cannot be
    // written fails. Calls act and end on `audit_thread`. Both must outlive the
    // calls. Null, both: no records.
    server::AuditLog* audit = nullptr;
    logs::AuditThread* audit_thread = nullptr;
    // This service has a listener of its own. A standby then does not know
    // where the leader serves operators, unless all managers use the same port,
    // which is not 0 then.
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
  template <typename Request>
  struct Call {
    grpc::CallbackServerContext* context;
    const Request* request;
    grpc::ServerUnaryReactor* reactor;
    absl::Time began;
  };
  // The work of a call, run once its audit line can be written. Calls End.
  using Act = std::function<void(const logs::AuditThread::PlacePtr& place)>;

  // Every call begins with CallOf and Begin. They do not wait.
  template <typename Request>
  static Call<Request> CallOf(grpc::CallbackServerContext* context,
                              const Request* request);
  template <typename Request>
  void Begin(const Call<Request>& call, Act act);
  // Begins a call whose work is `administer`, and whose status is its result.
  template <typename Request>
  grpc::ServerUnaryReactor* Administer(
      grpc::CallbackServerContext* context, const Request* request,
      std::function<absl::Status(ManagerCore*, absl::Time)> administer);
  // Not OK: the call must end with this error, without an effect.
  template <typename Request>
  absl::Status Admit(const Call<Request>& call);

  // Every call ends with End. `waits`: waits until its audit line is written.
  template <typename Request>
  void End(const Call<Request>& call, const absl::Status& status,
           bool waits = true);
  // Ends a call that had no effect, without waiting for its audit line.
  template <typename Request>
  void Refuse(const Call<Request>& call, const absl::Status& status);
  template <typename Request>
  static server::AuditRecord RecordOf(const Call<Request>& call,
                                      const absl::Status& status);
  template <typename Request>
  void Answer(const Call<Request>& call, const absl::Status& status);

  Manager* const manager_;
  const Options options_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_ADMIN_SERVICE_H_
