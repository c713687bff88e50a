// The DebugService (proto/kamino/v1/debug.proto): a process's settings, metrics
// and last log lines, for kamino debug dump.
#ifndef KAMINO_SERVER_DEBUG_SERVICE_H_
#define KAMINO_SERVER_DEBUG_SERVICE_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kamino/v1/debug.grpc.pb.h"
#include "logs/audit_thread.h"
#include "rpc/cluster_identity.h"
#include "server/audit_log.h"

namespace kamino::server {

// The value of a setting with secrets removed: the value itself if the name
// says that it is secret, and the part of an address before @.
std::string Redacted(absl::string_view name, absl::string_view value);

class DebugService final : public kamino::v1::DebugService::CallbackService {
 public:
  // `cluster`: this process's; a call that names another one fails. `metrics`
  // may be null; any thread calls it. Calls run on `audit_thread`. `audit` gets
  // a record of each call; null: the program's log gets a line. A call whose
  // record cannot be written fails. `cluster`, `audit_thread` and `audit` must
  // outlive the calls.
  DebugService(std::string program, const rpc::ClusterIdentity* cluster,
               std::function<std::string()> metrics,
               logs::AuditThread* audit_thread, AuditLog* audit = nullptr)
      : program_(std::move(program)),
        cluster_(*cluster),
        metrics_(std::move(metrics)),
        audit_thread_(audit_thread),
        audit_(audit) {}

  grpc::ServerUnaryReactor* GetDebug(
      grpc::CallbackServerContext* context,
      const kamino::v1::GetDebugRequest* request,
      kamino::v1::GetDebugResponse* response) override;

 private:
  // Writes the audit line of a call, and waits until it is written.
  absl::Status Audit(const AuditRecord& record);
  // Queues the audit line of a call that fails.
  void AuditRefusal(const AuditRecord& record);
  void Fill(kamino::v1::GetDebugResponse* response);

  const std::string program_;
  const rpc::ClusterIdentity& cluster_;
  const std::function<std::string()> metrics_;
  logs::AuditThread* const audit_thread_;
  AuditLog* const audit_;
};

}  // namespace kamino::server

#endif  // KAMINO_SERVER_DEBUG_SERVICE_H_
