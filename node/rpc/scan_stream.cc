#include "node/rpc/scan_stream.h"

#include "logs/about_request.h"
#include "node/rpc/call_ender.h"
#include "node/rpc/call_words.h"
#include "node/rpc/status_details.h"
#include "rpc/call_counts.h"
#include "rpc/cluster_calls.h"

namespace kamino::node {

ScanStream* ScanStream::Start(Node* node, grpc::CallbackServerContext* context,
                              absl::Time deadline,
                              const kamino::v1::ScanRequest& request,
                              security::Access* access) {
  auto* stream = new ScanStream(node, context, deadline, request, access);
  absl::Status ok = rpc::MeetClient(node->cluster(), context);
  if (ok.ok()) ok = CheckAsked(request.chain_id(), node->chain_id());
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
  absl::Status entered = node_->meters().reads.Enter(bytes);
  if (!entered.ok()) return FinishWith(entered);
  const bool running = node_->Read([this, bytes](ChainNode& node) {
    node_->meters().reads.Leave(bytes);
    if (node_->meters().slow.on()) part_came_ = node_->Now();
    ReadAndWrite(node);
  });
  if (running) return;
  node_->meters().reads.Leave(bytes);
  FinishWith(NodeStopping());
}

void ScanStream::ReadAndWrite(ChainNode& node) {
  absl::Status status =
      node_->meters().reads.Begin(peer_, cancelled_, deadline_, node_->Now());
  if (status.ok()) status = ReadMessage(node);
  const absl::Time now = node_->Now();
  TellIfSlow(status, now);
  if (!status.ok()) return FinishWith(status);
  unsent_ = node_->meters().reads.AddAnswer(
      peer_, static_cast<int64_t>(response_.ByteSizeLong()), now,
      EnderOf(context_));
  StartWrite(&response_);
}

absl::Status ScanStream::ReadMessage(ChainNode& node) {
  response_.Clear();
  absl::Status status =
      node.reads().Read(ScopeOf(by_), [this](engine::KeyValueReader& objects) {
        return ReadNext(objects, &cursor_, &response_);
      });
  kamino::v1::ResponseHeader* header = response_.mutable_header();
  header->set_chain_id(node_->chain_id());
  header->set_view_id(node.core().view().id);
  header->set_sequence(node.core().progress().settled());
  header->set_served_by(node_->node_id());
  return status;
}

void ScanStream::OnWriteDone(bool ok) {
  node_->meters().reads.RemoveAnswer(unsent_);
  if (!ok) return FinishWith(absl::CancelledError("cancelled"));
  if (cursor_.done) return FinishWith(absl::OkStatus());
  part_began_ =
      node_->meters().slow.on() ? node_->Now() : absl::InfiniteFuture();
  Next();
}

void ScanStream::FinishWith(const absl::Status& status) {
  rpc::CountServed<kamino::v1::ScanResponse>(status.raw_code(),
                                             node_->Now() - began_);
  const std::string name = RequestNameOf(*context_, request_);
  if (access_ != nullptr) {
    const std::string trace = TraceparentOf(*context_);
    const logs::AboutRequest about(name, trace);
    access_->Note(status, rpc::MethodOf(*kamino::v1::ScanRequest::descriptor()),
                  by_.get());
  }
  Finish(ToGrpcStatus(status, *node_->view_board().current(), node_->node_id(),
                      name));
}

void ScanStream::TellIfSlow(const absl::Status& status, absl::Time now) {
  if (part_began_ == absl::InfiniteFuture()) return;
  if (!node_->meters().slow.IsSlow(now - part_began_)) return;
  SlowOperation slow;
  Describe(*context_, request_, &slow);
  slow.method = "scan";
  slow.code = status.code();
  slow.took = now - part_began_;
  slow.answer_bytes = response_.ByteSizeLong();
  if (part_came_ != absl::InfiniteFuture()) {
    slow.core = part_came_ - part_began_;
  }
  node_->meters().slow.Tell(slow, now);
}

}  // namespace kamino::node
