// One WatchChain call. A watcher that is slow misses views in between, never
// the latest.
#ifndef KAMINO_NODE_RPC_WATCH_STREAM_H_
#define KAMINO_NODE_RPC_WATCH_STREAM_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "node/driver/view_board.h"

namespace kamino::node {

// Deletes itself when the call is over.
class WatchStream final
    : public grpc::ServerWriteReactor<kamino::v1::WatchChainResponse> {
 public:
  // Ends at once where the request is not `ok`.
  static WatchStream* Start(ViewBoard* board, const std::string& node_id,
                            const absl::Status& ok);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  WatchStream(ViewBoard* board, std::string node_id)
      : board_(board), node_id_(std::move(node_id)) {}

  void OnChain(const ViewBoard::Snapshot& chain);
  void WriteLatest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishOnce(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ViewBoard* const board_;
  const std::string node_id_;
  uint64_t subscription_ = 0;  // constant after Start

  absl::Mutex mutex_;
  ViewBoard::Snapshot latest_ ABSL_GUARDED_BY(mutex_);
  uint64_t written_view_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  kamino::v1::WatchChainResponse response_;  // of the write under way
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_WATCH_STREAM_H_
