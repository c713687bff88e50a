#include "node/rpc/watch_stream.h"

#include "node/rpc/call_ender.h"
#include "node/rpc/status_details.h"
#include "replica/errors.h"
#include "rpc/call_counts.h"

namespace kamino::node {

WatchStream* WatchStream::Start(Node* node,
                                grpc::CallbackServerContext* context,
                                const absl::Status& ok) {
  auto* stream = new WatchStream(node, context);
  if (!ok.ok()) {
    absl::MutexLock lock(&stream->mutex_);
    stream->FinishOnce(ok);
    return stream;
  }
  stream->subscription_ = node->view_board().Subscribe(
      stream->peer_,
      [stream](const ViewBoard::Snapshot& chain) { stream->OnChain(chain); });
  if (stream->subscription_ == 0) {
    absl::MutexLock lock(&stream->mutex_);
    stream->FinishOnce(replica::MakeError(
        kamino::v1::REASON_OVERLOADED,
        "too many watchers at this node, or by this connection"));
  }
  return stream;
}

void WatchStream::OnChain(const ViewBoard::Snapshot& chain) {
  absl::MutexLock lock(&mutex_);
  latest_ = chain;
  if (!writing_) WriteLatest();
}

void WatchStream::WriteLatest() {
  if (finished_ || latest_->view_id() <= written_view_) return;
  writing_ = true;
  written_view_ = latest_->view_id();
  response_.mutable_header()->set_chain_id(latest_->chain_id());
  response_.mutable_header()->set_view_id(latest_->view_id());
  response_.mutable_header()->set_served_by(node_->node_id());
  *response_.mutable_chain() = *latest_;
  unsent_ = node_->meters().reads.AddAnswer(
      peer_, static_cast<int64_t>(response_.ByteSizeLong()), node_->Now(),
      EnderOf(context_));
  StartWrite(&response_);
}

void WatchStream::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  node_->meters().reads.RemoveAnswer(unsent_);
  if (ok) {
    WriteLatest();
  } else {
    FinishOnce(absl::CancelledError("cancelled"));
  }
}

void WatchStream::OnCancel() {
  absl::MutexLock lock(&mutex_);
  FinishOnce(absl::CancelledError("cancelled"));
}

void WatchStream::OnDone() {
  if (subscription_ != 0) node_->view_board().Unsubscribe(subscription_);
  delete this;
}

void WatchStream::FinishOnce(const absl::Status& status) {
  if (finished_) return;
  finished_ = true;
  rpc::CountServed<kamino::v1::WatchChainResponse>(status.raw_code(),
                                                   node_->Now() - began_);
  Finish(ToGrpcStatus(
      status, *(latest_ == nullptr ? node_->view_board().current() : latest_),
      node_->node_id()));
}

}  // namespace kamino::node
