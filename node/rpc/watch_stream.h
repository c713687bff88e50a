// One WatchChain call. A slow watcher misses intermediate views, never the
// latest; one that receives nothing for too long is ended.
#ifndef KAMINO_NODE_RPC_WATCH_STREAM_H_
#define KAMINO_NODE_RPC_WATCH_STREAM_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "node/driver/node.h"
#include "node/driver/view_board.h"

namespace kamino::node {

// Deletes itself when the call is over.
class WatchStream final
    : public grpc::ServerWriteReactor<kamino::v1::WatchChainResponse> {
 public:
  // Ends at once if the request is not `ok`.
  static WatchStream* Start(Node* node, grpc::CallbackServerContext* context,
                            const absl::Status& ok);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  WatchStream(Node* node, grpc::CallbackServerContext* context)
      : node_(node), context_(context), peer_(context->peer()) {}

  void OnChain(const ViewBoard::Snapshot& chain);
  void WriteLatest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishOnce(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Node* const node_;
  grpc::CallbackServerContext* const context_;
  const std::string peer_;  // its connection
  const absl::Time began_ = node_->Now();
  uint64_t subscription_ = 0;  // constant after Start

  absl::Mutex mutex_;
  ViewBoard::Snapshot latest_ ABSL_GUARDED_BY(mutex_);
  uint64_t written_view_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  // The current write, and its number among the node's unsent answers.
  kamino::v1::WatchChainResponse response_;
  uint64_t unsent_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_WATCH_STREAM_H_
