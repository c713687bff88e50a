#include "head/scan_stream.h"

#include "head/status_details.h"

namespace kamino::head {

ScanStream* ScanStream::Start(Node* node,
                              const kamino::v1::ScanRequest& request) {
  auto* stream = new ScanStream(node, request);
  stream->Next();
  return stream;
}

void ScanStream::Next() {
  const bool running =
      node_->Run([this](ChainNode& node) { ReadAndWrite(node); });
  if (!running) FinishWith(NodeStopping());
}

void ScanStream::ReadAndWrite(ChainNode& node) {
  if (cancelled_) return FinishWith(absl::CancelledError("cancelled"));
  response_.Clear();
  absl::Status status = node.Read([this](engine::KeyValueReader& objects) {
    return ReadNext(objects, &cursor_, &response_);
  });
  if (!status.ok()) return FinishWith(status);
  kamino::v1::ResponseHeader* header = response_.mutable_header();
  header->set_view_id(node.core().view().id);
  header->set_sequence(node.core().ring().applied());
  header->set_served_by(node_->node_id());
  StartWrite(&response_);
}

void ScanStream::OnWriteDone(bool ok) {
  if (!ok) return FinishWith(absl::CancelledError("cancelled"));
  if (cursor_.done) return FinishWith(absl::OkStatus());
  Next();
}

void ScanStream::FinishWith(const absl::Status& status) {
  Finish(
      ToGrpcStatus(status, *node_->view_board().current(), node_->node_id()));
}

}  // namespace kamino::head
