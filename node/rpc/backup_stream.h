// One Save call: opens a snapshot at the tail, reads it step by step on the
// core thread, and sends the records from its own thread, so that neither
// hashing nor gRPC takes the core's time. It holds at most two messages: one on
// its way, one in the making. It ends a call whose client receives none for too
// long.
#ifndef KAMINO_NODE_RPC_BACKUP_STREAM_H_
#define KAMINO_NODE_RPC_BACKUP_STREAM_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kamino/v1/backup.grpc.pb.h"
#include "node/driver/node.h"
#include "node/rpc/backup_reader.h"

namespace kamino::node {

// The caller, as in the log.
std::string CallerOf(const grpc::CallbackServerContext& context);

// Deletes itself when the call is over.
class BackupStream final
    : public grpc::ServerWriteReactor<kamino::v1::SaveResponse> {
 public:
  // Refuses the call if `may` says so, and ends it when the client receives
  // nothing for `patience`. Calls `over` at the end.
  static BackupStream* Start(Node* node, grpc::CallbackServerContext* context,
                             const kamino::v1::SaveRequest& request,
                             absl::Duration patience, const absl::Status& may,
                             std::function<void()> over);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  using Part = kamino::v1::SaveResponse;

  BackupStream(Node* node, grpc::CallbackServerContext* context,
               const kamino::v1::SaveRequest& request, absl::Duration patience,
               std::function<void()> over)
      : node_(node),
        context_(context),
        request_(request),
        patience_(patience),
        peer_(context->peer()),
        by_(CallerOf(*context)),
        over_(std::move(over)) {}

  // --- The stream's thread.

  void Run();
  absl::Status Save();
  absl::Status SendObjects();
  // The call is cancelled, or its client receives nothing any more.
  bool IsBroken();
  // Sends once the message before it has left.
  absl::Status Send(Part part);
  absl::Status AwaitSent();
  // The client received nothing within `patience_`.
  absl::Status EndUntaken();
  // `logged`: whether the line about the end is in the log.
  void FinishWith(absl::Status status, const absl::Status& logged);
  std::string LineOfEnd(const absl::Status& status) const;
  // The backup, as in the log.
  std::string What() const;

  Node* const node_;
  grpc::CallbackServerContext* const context_;
  const kamino::v1::SaveRequest request_;
  const absl::Duration patience_;
  const std::string peer_;  // its connection
  const std::string by_;
  const std::function<void()> over_;
  const absl::Time began_ = node_->Now();

  BackupReader reader_{node_, &request_};
  Part sent_;            // on its way
  uint64_t unsent_ = 0;  // the message, among the node's unsent answers

  absl::Mutex mutex_;
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;  // cancelled, or not received

  std::thread thread_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_BACKUP_STREAM_H_
