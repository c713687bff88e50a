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
#include "node/driver/node.h"
#include "replica/log_entry.h"

namespace kamino::node {

// Thread-safe. `node` must outlive the server that this is registered with, and
// be stopped before it.
class BackupService final : public kamino::v1::BackupService::CallbackService {
 public:
  // Each has a snapshot open, a thread, and some MiB of messages.
  static constexpr int kMaxSaves = 2;

  // So long a message of a save may wait for its client, which may bring it to
  // a slow place; then the save ends.
  static constexpr absl::Duration kPatience = absl::Seconds(60);

  explicit BackupService(Node* node, absl::Duration patience = kPatience)
      : node_(node), patience_(patience) {}

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
  // What the step is as a mutation.
  absl::StatusOr<replica::Mutation> MutationOf(
      grpc::CallbackServerContext* context,
      const kamino::v1::RestoreRequest& request) const;

  // The log has a line for each restore that a client begins, finishes or gives
  // up. kFailedPrecondition: it takes none, and the step has to fail.
  absl::Status NoteStep(const kamino::v1::RestoreRequest& request,
                        const kamino::v1::RestoreResponse& response,
                        const std::string& by, const absl::Status& status);

  Node* const node_;
  const absl::Duration patience_;
  std::atomic<int> saves_{0};
  // Of records, since a restore began here.
  std::atomic<uint64_t> restored_bytes_{0};
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_BACKUP_SERVICE_H_
