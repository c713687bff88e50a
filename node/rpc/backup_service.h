// kamino.v1.BackupService of a node, on gRPC's callback API.
#ifndef KAMINO_NODE_RPC_BACKUP_SERVICE_H_
#define KAMINO_NODE_RPC_BACKUP_SERVICE_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kamino/v1/backup.grpc.pb.h"
#include "logs/audit_thread.h"
#include "node/driver/node.h"
#include "replica/log/log_entry.h"

namespace kamino::node {

// Thread-safe. `node` must outlive the server that this is registered with, and
// be stopped before it. `audit_thread` outlives the server too.
class BackupService final : public kamino::v1::BackupService::CallbackService {
 public:
  // Each has an open snapshot, a thread, and some MiB of messages.
  static constexpr int kMaxSaves = 2;

  // A save's message may wait so long for its client, which may write to a slow
  // place; then the save ends.
  static constexpr absl::Duration kPatience = absl::Seconds(60);

  BackupService(Node* node, logs::AuditThread* audit_thread,
                absl::Duration patience = kPatience)
      : node_(node), audit_thread_(audit_thread), patience_(patience) {}

  grpc::ServerWriteReactor<kamino::v1::SaveResponse>* Save(
      grpc::CallbackServerContext* context,
      const kamino::v1::SaveRequest* request) override;
  grpc::ServerUnaryReactor* Restore(
      grpc::CallbackServerContext* context,
      const kamino::v1::RestoreRequest* request,
      kamino::v1::RestoreResponse* response) override;

 private:
  absl::Status CheckMaySave(grpc::CallbackServerContext* context,
                            const kamino::v1::SaveRequest& request);
  // The step as a mutation.
  absl::StatusOr<replica::Mutation> MutationOf(
      grpc::CallbackServerContext* context,
      const kamino::v1::RestoreRequest& request) const;

  // One Restore call.
  struct Step {
    grpc::CallbackServerContext* context;
    const kamino::v1::RestoreRequest* request;
    kamino::v1::RestoreResponse* response;
    grpc::ServerUnaryReactor* reactor;
    absl::Time began;
    // Null: the step leaves no line, as there are many of them.
    logs::AuditThread::PlacePtr place;
  };

  // Has the head execute the step. Does not wait.
  void Execute(const Step& step);
  // On any thread, once the outcome is known.
  void Finish(const Step& step, const absl::Status& status);
  void Count(const Step& step);
  void Answer(const Step& step, const absl::Status& status);
  // Refuses a step whose line could not be written; nothing was done.
  void Refuse(const Step& step, const absl::Status& status);
  // The log line for a restore that a client begins, finishes or gives up.
  std::string LineOf(const Step& step, const absl::Status& status) const;

  Node* const node_;
  logs::AuditThread* const audit_thread_;
  const absl::Duration patience_;
  std::atomic<int> saves_{0};
  // Bytes of records since a restore began here.
  std::atomic<uint64_t> restored_bytes_{0};
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_BACKUP_SERVICE_H_
