#include "transport/loop/loop_link.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "glog/logging.h"
#include "security/certificates.h"

namespace kamino::transport {

absl::StatusOr<std::shared_ptr<EventLoop>> LinkContext::LoopFor(
    const TransportOptions& options, absl::Duration spin) {
  if (options.loop != nullptr) return options.loop;
  return EventLoop::Start(spin);
}

void LinkContext::EndLoop() {
  if (options.loop == nullptr) return loop->Stop();
  CHECK(!loop->OnLoopThread()) << "a transport was destroyed by its own user";
  loop->RunSync([] {});  // after the tasks that close them
}

void LinkContext::CloseAll(const std::shared_ptr<LinkContext>& context) {
  context->stopping = true;
  context->loop->Post([context] {
    // Copies: closing removes from the originals.
    const auto ports = context->ports;
    for (const std::shared_ptr<LoopPort>& port : ports) port->Close();
    const auto links = context->links;
    for (const std::shared_ptr<LoopLink>& link : links) {
      link->Fail(absl::CancelledError("the transport is being destroyed"));
    }
  });
}

absl::Status LinkContext::CheckEra(uint64_t era) const {
  const uint64_t own = this->era();
  if (era >= own) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("its era ", era, " is over; this side is at ", own));
}

void LinkContext::TellFailure(absl::string_view peer, const absl::Status& why) {
  const auto end = failures.Take(MonotonicNow());
  LOG_IF(WARNING, end.has_value())
      << "no link to " << peer << ": " << why.message() << *end;
}

void LinkContext::TellEnd(absl::string_view peer, const absl::Status& why) {
  const auto end = ends.Take(MonotonicNow());
  LOG_IF(WARNING, end.has_value())
      << "ends the link to " << peer << ": " << why.message() << *end;
}

void ShutGate(AcceptGate* gate) {
  gate->open = false;
  std::vector<std::shared_ptr<LoopLink>> links;
  for (LoopLink* const link : gate->WaitingLinks()) {
    links.push_back(link->shared_from_this());
  }
  for (const std::shared_ptr<LoopLink>& link : links) {
    link->Fail(absl::CancelledError("the listener was destroyed"));
  }
}

LoopListener::~LoopListener() {
  // A stopped loop's transport has closed its ports.
  loop_->RunSync([this] { port_->Close(); });
}

LoopLink::LoopLink(std::shared_ptr<LinkContext> context,
                   const Capabilities& kind, std::string peer)
    : context_(std::move(context)),
      kind_(kind),
      peer_(std::move(peer)),
      max_message_(context_->options.max_message) {}

Capabilities LoopLink::capabilities() const {
  Capabilities capabilities = kind_;
  absl::MutexLock lock(&mu_);
  capabilities.max_message = max_message_;
  return capabilities;
}

absl::Status LoopLink::CheckSendLocked(size_t length) const {
  if (closing()) {
    return absl::UnavailableError(
        absl::StrCat("link to ", peer_, " is closed: ", why_.message()));
  }
  if (state_ != State::kOpen) {
    return absl::UnavailableError(
        absl::StrCat("link to ", peer_, " is not established yet"));
  }
  if (length > max_message_) {
    return absl::InvalidArgumentError(
        absl::StrCat("message of ", length, " bytes; the link to ", peer_,
                     " takes ", max_message_));
  }
  return absl::OkStatus();
}

void LoopLink::Close() {
  absl::MutexLock lock(&mu_);
  BeginCloseLocked(absl::CancelledError("closed by this side"));
}

void LoopLink::BeginCloseLocked(const absl::Status& why) {
  if (closing()) return;
  why_ = why;
  closing_.store(true, std::memory_order_release);
  // Refused only when the loop has stopped, and then the link is closed.
  loop().Post([self = shared_from_this(), why] { self->Fail(why); });
}

void LoopLink::Fail(const absl::Status& why, std::optional<LinkRefusal> refusal,
                    bool told) {
  {
    absl::MutexLock lock(&mu_);
    if (!closing()) {
      why_ = why;
      closing_.store(true, std::memory_order_release);
    }
  }
  if (state_ == State::kClosed) return;
  const std::shared_ptr<LoopLink> keep = shared_from_this();
  if (timer_ != 0) loop().CancelTimer(timer_);
  if (state_ == State::kOpen) OnStopping();
  Detach();
  absl::Status first;  // why it closes
  {
    absl::MutexLock lock(&mu_);
    state_ = State::kClosed;
    ReleaseLocked();
    first = why_;
  }
  believed_ = nullptr;
  context_->links.erase(keep);
  if (gate_ != nullptr) {
    gate_->Left(this, MonotonicNow());
    if (options().accepted != nullptr) --*options().accepted;
  }
  if (handler_ != nullptr) {
    handler_->OnClosed(first);
    handler_ = nullptr;
  } else if (gate_ != nullptr && !absl::IsCancelled(first)) {
    gate_->TellRefusal(peer_, refusal.value_or(AcceptGate::RefusalOf(first)),
                       first.message(), told);
  }
  gate_ = nullptr;
}

std::string LoopLink::peer_identity() const {
  absl::MutexLock lock(&mu_);
  return identity_;
}

absl::Status LoopLink::KnowPeer(
    const std::optional<security::Certificate>& peer) {
  if (options().certificates == nullptr) return absl::OkStatus();
  if (!peer.has_value()) {
    return absl::UnauthenticatedError(
        "it was set up without TLS, but this side has certificates");
  }
  const std::string identity = security::ToString(peer->identity());
  {
    absl::MutexLock lock(&mu_);
    identity_ = identity;
  }
  // May be called during a check of certificates, so it must not block there.
  believed_ = options().certificates->watches()->WatchPeer(
      *peer, [link = weak_from_this(),
              context = std::weak_ptr(context_)](const absl::Status& why) {
        const auto held = context.lock();
        if (held == nullptr) return;
        held->loop->Post([link, why] {
          const auto self = link.lock();
          if (self == nullptr || self->closing()) return;
          self->context().TellEnd(self->peer(), why);
          self->Fail(why);
        });
      });
  if (gate_ == nullptr) return handler_->OnPeerKnown(identity);
  return options().admit ? options().admit(identity) : absl::OkStatus();
}

// The common part of both kinds of start; false when the link is closed.
bool LoopLink::Begin() {
  CHECK(state_ == State::kNew);
  context_->links.insert(shared_from_this());
  if (context_->stopping) {
    Fail(absl::CancelledError("the transport is being destroyed"));
    return false;
  }
  // A Close that came first has posted its Fail behind this.
  if (closing()) return false;
  timer_ = loop().StartTimer(options().connect_timeout, [this] {
    timer_ = 0;
    Fail(absl::DeadlineExceededError(
        absl::StrCat("not established within ",
                     absl::FormatDuration(options().connect_timeout))));
  });
  absl::MutexLock lock(&mu_);
  state_ = State::kStarting;
  return true;
}

bool LoopLink::BeginConnecting(std::shared_ptr<LinkHandler> handler) {
  handler_ = std::move(handler);
  return Begin();
}

bool LoopLink::BeginAccepting(std::shared_ptr<AcceptGate> gate,
                              const std::string& host) {
  gate_ = std::move(gate);
  gate_->Came(this, host, MonotonicNow());
  if (options().accepted != nullptr) ++*options().accepted;
  return Begin();
}

bool LoopLink::Open(size_t max_message) {
  // No kind of link gets past this without an authenticated peer, if there are
  // certificates.
  const std::string identity = peer_identity();
  if (options().certificates != nullptr && identity.empty()) {
    Fail(absl::UnauthenticatedError("the identity of the peer is unknown"));
    return false;
  }
  if (gate_ != nullptr) {
    const auto refused = gate_->Open(this, identity, MonotonicNow());
    if (refused.has_value()) {
      Fail(refused->status, refused->why);
      return false;
    }
  }
  loop().CancelTimer(timer_);
  timer_ = 0;
  {
    absl::MutexLock lock(&mu_);
    max_message_ = max_message;
    state_ = State::kOpen;
  }
  if (!HandOver()) return false;
  OnOpen();
  return !closing();
}

// Makes the link known to its user; false when it is closed or closing.
bool LoopLink::HandOver() {
  if (gate_ == nullptr) {
    handler_->OnConnected(shared_from_this());
    return !closing();
  }
  // The acceptor may destroy its listener; both outlive the call.
  const std::shared_ptr<AcceptGate> gate = gate_;
  if (gate->open) handler_ = gate->acceptor(shared_from_this());
  if (handler_ == nullptr) {
    Fail(absl::CancelledError("refused by the acceptor"));
    return false;
  }
  return !closing();
}

}  // namespace kamino::transport
