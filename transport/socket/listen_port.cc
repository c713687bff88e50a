#include "transport/socket/listen_port.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::transport {
namespace {

// When the process is out of descriptors no event announces their return.
constexpr absl::Duration kAcceptRetry = absl::Milliseconds(100);

// Connections accepted in a row; the loop has other work, too.
constexpr int kAcceptsAtOnce = 16;

}  // namespace

ListenPort::ListenPort(std::shared_ptr<LinkContext> context,
                       std::shared_ptr<const SocketProtocol> protocol,
                       SocketProtocol::Bound bound, AcceptCallback acceptor)
    : context_(std::move(context)),
      protocol_(std::move(protocol)),
      gate_(
          std::make_shared<AcceptGate>(context_->options, std::move(acceptor))),
      bound_(std::move(bound)) {
  gate_->address = bound_.address;
}

ListenPort::~ListenPort() { Release(); }

absl::Status ListenPort::Open() {
  if (context_->stopping) {
    return absl::UnavailableError("the transport is being destroyed");
  }
  ASSIGN_OR_RETURN(EventLoop::Id id,
                   context_->loop->Watch(bound_.socket.get(), EPOLLIN,
                                         [this](uint32_t) { AcceptAll(); }));
  watch_ = id;
  context_->ports.insert(shared_from_this());
  return absl::OkStatus();
}

void ListenPort::Close() {
  if (watch_ == 0) return;
  const std::shared_ptr<ListenPort> keep = shared_from_this();
  context_->loop->Unwatch(watch_);
  watch_ = 0;
  if (retry_ != 0) context_->loop->CancelTimer(retry_);
  Release();
  context_->ports.erase(keep);
  ShutGate(gate_.get());
}

void ListenPort::Release() {
  bound_.socket.Reset();
  if (bound_.release) std::exchange(bound_.release, nullptr)();
}

void ListenPort::AcceptAll() {
  const std::shared_ptr<ListenPort> keep = shared_from_this();
  for (int accepts = 0; watch_ != 0; ++accepts) {
    if (accepts == kAcceptsAtOnce) {
      // Connections that are there already cause no event.
      context_->loop->Post([keep] { keep->AcceptAll(); });
      return;
    }
    UniqueFd socket(::accept4(bound_.socket.get(), nullptr, nullptr,
                              SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.valid()) {
      Admit(std::move(socket));
      continue;
    }
    if (errno == EAGAIN) return;
    // These name the connection that was to be accepted, not this socket.
    if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
    LOG(WARNING) << "accept at " << address() << ": " << ::strerror(errno);
    if (retry_ != 0) return;
    retry_ = context_->loop->StartTimer(kAcceptRetry, [this] {
      retry_ = 0;
      AcceptAll();
    });
    return;
  }
}

void ListenPort::Admit(UniqueFd socket) {
  const auto [link, host] = protocol_->NewAcceptor(context_, socket.get());
  if (const auto refused = gate_->MayCome(host, MonotonicNow())) {
    gate_->TellRefusal(link->peer(), refused->why, refused->status.message());
    return;
  }
  if (LoopLink* const slow = gate_->InTheWay()) {
    slow->Fail(
        absl::ResourceExhaustedError(
            "it was too slow to be established, and other connections came"),
        LinkRefusal::kHalfOpen);
  }
  link->StartAccepting(std::move(socket), gate_, host);
}

}  // namespace kamino::transport
