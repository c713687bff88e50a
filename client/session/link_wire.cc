#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "client/session/wire.h"

namespace kamino::client {
namespace {

using transport::Link;

absl::Span<const std::byte> BytesOf(absl::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// The transport keeps it alive as the link's handler.
class LinkWire final : public Wire,
                       public transport::LinkHandler,
                       public std::enable_shared_from_this<LinkWire> {
 public:
  LinkWire(std::string node, std::shared_ptr<WireHandler> handler)
      : node_(std::move(node)), handler_(std::move(handler)) {}

  bool Open(transport::Transport* transport, const std::string& address) {
    auto link = transport->Connect(address, shared_from_this());
    if (!link.ok()) return false;
    absl::MutexLock lock(&mutex_);
    link_ = *link;
    return true;
  }

  void Send(std::string frame) override {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    if (connected_ && waiting_.empty() && Sent(frame)) return;
    waiting_.push_back(std::move(frame));
  }

  void Close() override {
    std::shared_ptr<Link> link;
    {
      absl::MutexLock lock(&mutex_);
      link = link_;
    }
    if (link != nullptr) link->Close();
  }

 private:
  absl::Status OnPeerKnown(const std::string& identity) override {
    if (identity == node_) return absl::OkStatus();
    return absl::PermissionDeniedError(
        absl::StrCat("it leads to ", identity, " and not to ", node_));
  }
  void OnConnected(const std::shared_ptr<Link>& link) override {
    absl::MutexLock lock(&mutex_);
    link_ = link;
    connected_ = true;
    SendWaiting();
  }
  void OnWritable() override {
    absl::MutexLock lock(&mutex_);
    SendWaiting();
  }
  void OnMessage(absl::Span<const std::byte> message) override {
    handler_->OnFrame(
        {reinterpret_cast<const char*>(message.data()), message.size()});
  }
  void OnClosed(const absl::Status& why) override {
    {
      absl::MutexLock lock(&mutex_);
      closed_ = true;
      waiting_.clear();
    }
    handler_->OnWireClosed(why);
  }

  // False: no credits. Otherwise the link has the frame, or has ended.
  bool Sent(const std::string& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !absl::IsResourceExhausted(link_->Send({}, BytesOf(frame)));
  }
  void SendWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!waiting_.empty() && Sent(waiting_.front())) waiting_.pop_front();
  }

  const std::string node_;
  const std::shared_ptr<WireHandler> handler_;
  absl::Mutex mutex_;
  std::shared_ptr<Link> link_ ABSL_GUARDED_BY(mutex_);
  bool connected_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::string> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<Wire> OpenLinkWire(transport::Transport* transport,
                                   const std::string& address,
                                   const std::string& node,
                                   std::shared_ptr<WireHandler> handler) {
  auto wire = std::make_shared<LinkWire>(node, std::move(handler));
  if (!wire->Open(transport, address)) return nullptr;
  return wire;
}

}  // namespace kamino::client
