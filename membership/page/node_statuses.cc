#include "membership/page/node_statuses.h"

#include <utility>

#include "base/clock.h"
#include "rpc/channel.h"

namespace kamino::membership {
namespace {

constexpr absl::Duration kEvery = absl::Milliseconds(400);
constexpr absl::Duration kTimeout = absl::Seconds(1);
// Older answers are not shown: the node is gone, or hangs.
constexpr absl::Duration kShown = absl::Seconds(3);
constexpr int kMaxAnswerBytes = 256 << 10;

}  // namespace

// The outstanding call also keeps it alive.
struct NodeStatuses::Node {
  std::string address;
  std::unique_ptr<kamino::v1::KaminoService::Stub> stub;
  bool asked = false;  // a call is outstanding
  absl::Time next = absl::InfinitePast();
  absl::Time answered = absl::InfinitePast();
  Status status;

  // The context of the outstanding call.
  std::unique_ptr<grpc::ClientContext> context;
  kamino::v1::GetNodeStatusRequest request;
  Status answer;
};

NodeStatuses::~NodeStatuses() {
  absl::MutexLock lock(&mutex_);
  ends_ = true;
  for (const auto& [id, node] : nodes_) {
    if (node->asked) node->context->TryCancel();
  }
  mutex_.Await(absl::Condition(
      +[](int* calls) { return *calls == 0; }, &calls_));
}

std::map<std::string, NodeStatuses::Status> NodeStatuses::Look(
    const Addresses& addresses) {
  const absl::Time now = MonotonicNow();
  std::map<std::string, Status> shown;
  absl::MutexLock lock(&mutex_);
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    const auto found = addresses.find(it->first);
    const bool same =
        found != addresses.end() && found->second == it->second->address;
    if (!same && it->second->asked) it->second->context->TryCancel();
    it = same ? std::next(it) : nodes_.erase(it);
  }
  for (const auto& [id, address] : addresses) {
    std::shared_ptr<Node>& node = nodes_[id];
    if (node == nullptr) {
      node = std::make_shared<Node>();
      node->address = address;
      rpc::ChannelOptions options;
      options.max_answer_bytes = kMaxAnswerBytes;
      options.credentials = credentials_;
      node->stub = kamino::v1::KaminoService::NewStub(
          rpc::MakeChannel(address, options));
    }
    if (now - node->answered < kShown) shown[id] = node->status;
    if (node->asked || now < node->next || ends_) continue;
    node->next = now + kEvery;
    Ask(node);
  }
  return shown;
}

void NodeStatuses::Ask(const std::shared_ptr<Node>& node) {
  node->asked = true;
  ++calls_;
  node->context = std::make_unique<grpc::ClientContext>();
  rpc::SetTimeout(kTimeout, node->context.get());
  node->stub->async()->GetNodeStatus(node->context.get(), &node->request,
                                     &node->answer,
                                     [this, node](const grpc::Status& status) {
                                       absl::MutexLock lock(&mutex_);
                                       node->asked = false;
                                       if (status.ok()) {
                                         node->status = std::move(node->answer);
                                         node->answered = MonotonicNow();
                                       }
                                       node->answer.Clear();
                                       --calls_;
                                     });
}

}  // namespace kamino::membership
