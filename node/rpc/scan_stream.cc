#include "node/rpc/scan_stream.h"

#include "node/rpc/call_ender.h"
#include "node/rpc/status_details.h"
#include "rpc/call_counts.h"

namespace kamino::node {

ScanStream* ScanStream::Start(Node* node, grpc::CallbackServerContext* context,
                              absl::Time deadline,
                              const kamino::v1::ScanRequest& request,
                              security::Access* access) {
  auto* stream = new ScanStream(node, context, deadline, request, access);
  absl::Status ok = CheckAsked(request.chain_id(), node->chain_id());
  if (ok.ok()) ok = CheckScan(request);
  if (!ok.ok()) {
    stream->FinishWith(ok);
  } else {
    stream->Next();
  }
  return stream;
}

void ScanStream::Next() {
  const auto bytes =
      static_cast<int64_t>(cursor_.start.size() + cursor_.end.size());
  absl::Status entered = node_->reads().Enter(bytes);
  if (!entered.ok()) return FinishWith(entered);
  const bool running = node_->Run([this, bytes](ChainNode& node) {
    node_->reads().Leave(bytes);
    ReadAndWrite(node);
  });
  if (running) return;
  node_->reads().Leave(bytes);
  FinishWith(NodeStopping());
}

void ScanStream::ReadAndWrite(ChainNode& node) {
  absl::Status status =
      node_->reads().Begin(peer_, cancelled_, deadline_, node_->Now());
  if (status.ok()) status = ReadMessage(node);
  if (!status.ok()) return FinishWith(status);
  unsent_ = node_->reads().AddAnswer(
      peer_, static_cast<int64_t>(response_.ByteSizeLong()), node_->Now(),
      EnderOf(context_));
  StartWrite(&response_);
}

absl::Status ScanStream::ReadMessage(ChainNode& node) {
  response_.Clear();
  absl::Status status =
      node.Read(ScopeOf(by_), [this](engine::KeyValueReader& objects) {
        return ReadNext(objects, &cursor_, &response_);
      });
  kamino::v1::ResponseHeader* header = response_.mutable_header();
  header->set_chain_id(node_->chain_id());
  header->set_view_id(node.core().view().id);
  header->set_sequence(node.core().settled());
  header->set_served_by(node_->node_id());
  return status;
}

void ScanStream::OnWriteDone(bool ok) {
  node_->reads().RemoveAnswer(unsent_);
  if (!ok) return FinishWith(absl::CancelledError("cancelled"));
  if (cursor_.done) return FinishWith(absl::OkStatus());
  Next();
}

void ScanStream::FinishWith(const absl::Status& status) {
  rpc::CountServed<kamino::v1::ScanResponse>(status.raw_code(),
                                             node_->Now() - began_);
  if (access_ != nullptr) access_->Note(status, by_.get());
  Finish(
      ToGrpcStatus(status, *node_->view_board().current(), node_->node_id()));
}

}  // namespace kamino::node
