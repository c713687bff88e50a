#include "transport/sim/sim_core.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::transport {
namespace {

std::pair<std::string, std::string> Pair(const std::string& a,
                                         const std::string& b) {
  return {std::min(a, b), std::max(a, b)};
}

}  // namespace

SimLink::SimLink(std::shared_ptr<SimCore> core, std::string endpoint,
                 std::string peer_address)
    : core_(std::move(core)),
      endpoint_(std::move(endpoint)),
      peer_address_(std::move(peer_address)) {}

absl::Status SimLink::Send(absl::Span<const std::byte> header,
                           absl::Span<const std::byte> payload) {
  return core_->Send(*this, header, payload);
}

void SimLink::Close() {
  core_->BeginClose(*this, absl::CancelledError("closed by this side"));
}

LinkCapabilities SimLink::capabilities() const {
  return {core_->options().max_message, /*one_sided=*/false, "sim"};
}

SimCore::SimCore(const SimNetwork::Options& options)
    : options_(options), random_(options.seed.value_or(0)) {
  CHECK_GE(options.credits, options.max_message)
      << "a largest message could never be sent";
}

void SimCore::Push(SimLink& to, SimLink::Event::Kind kind,
                   std::vector<std::byte> bytes) {
  to.inbox_bytes_ += bytes.size();
  to.inbox_.push_back({kind, std::move(bytes), NextOrder()});
}

bool SimCore::IsCut(const std::string& a, const std::string& b) const {
  return cuts_.count(Pair(a, b)) != 0;
}

void SimCore::SetCut(const std::string& a, const std::string& b, bool cut) {
  if (cut) {
    cuts_.insert(Pair(a, b));
  } else {
    cuts_.erase(Pair(a, b));
  }
}

void SimCore::Break(const std::string& a, const std::string& b) {
  for (const std::shared_ptr<SimLink>& link : links_) {
    if (Pair(link->endpoint_, link->other_endpoint_) != Pair(a, b)) continue;
    // Each side learns by itself; nothing needs to cross a cut.
    link->other_.reset();
    BeginClose(*link, absl::UnavailableError("the connection broke"));
  }
}

uint64_t SimCore::AddPort(const std::string& address,
                          const std::string& endpoint, Acceptor acceptor) {
  const uint64_t id = NextOrder();
  if (down_) return 0;
  const bool added =
      ports_.emplace(address, Port{id, endpoint, std::move(acceptor)}).second;
  return added ? id : 0;
}

void SimCore::SetEpoch(const std::string& endpoint,
                       std::function<uint64_t()> epoch) {
  epochs_[endpoint] = std::move(epoch);
}

uint64_t SimCore::EpochOf(const std::string& endpoint) const {
  auto found = epochs_.find(endpoint);
  return found == epochs_.end() || !found->second ? 0 : found->second();
}

void SimCore::RemovePort(const std::string& address, uint64_t id) {
  auto it = ports_.find(address);
  if (it != ports_.end() && it->second.id == id) ports_.erase(it);
}

std::shared_ptr<Link> SimCore::Connect(const std::string& endpoint,
                                       const std::string& address,
                                       std::shared_ptr<LinkHandler> handler) {
  if (down_) return nullptr;
  auto link = std::make_shared<SimLink>(shared_from_this(), endpoint, address);
  link->epoch_ = EpochOf(endpoint);
  link->handler_ = std::move(handler);
  links_.push_back(link);
  Push(*link, SimLink::Event::Kind::kConnect);
  return link;
}

absl::Status SimCore::Send(SimLink& link, absl::Span<const std::byte> header,
                           absl::Span<const std::byte> payload) {
  if (link.state_ != SimLink::State::kOpen) {
    return absl::UnavailableError(
        absl::StrCat("link to ", link.peer_address_, " is not open"));
  }
  const size_t length = header.size() + payload.size();
  if (length > options_.max_message) {
    return absl::InvalidArgumentError(absl::StrCat(
        "message of ", length, " bytes; the limit is ", options_.max_message));
  }
  const std::shared_ptr<SimLink> other = link.other_.lock();
  if (other == nullptr || !other->alive()) {
    return absl::OkStatus();  // lost on the way; OnClosed is coming
  }
  if (other->inbox_bytes_ + length > options_.credits) {
    link.blocked_ = true;
    return absl::ResourceExhaustedError("out of credits");
  }
  std::vector<std::byte> bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  Push(*other, SimLink::Event::Kind::kMessage, std::move(bytes));
  return absl::OkStatus();
}

void SimCore::BeginClose(SimLink& link, const absl::Status& why) {
  if (!link.alive()) return;
  link.state_ = SimLink::State::kClosing;
  link.why_ = why;
  link.closed_order_ = NextOrder();
  link.inbox_.clear();
  link.inbox_bytes_ = 0;
  const std::shared_ptr<SimLink> other = link.other_.lock();
  link.other_.reset();
  if (other != nullptr && other->alive()) {
    Push(*other, SimLink::Event::Kind::kPeerClosed);
  }
}

uint64_t SimCore::Ready(const SimLink& link) const {
  if (link.closed_order_ != 0) return link.closed_order_;
  if (link.writable_order_ != 0) return link.writable_order_;
  if (link.inbox_.empty()) return 0;
  std::string other = link.other_endpoint_;
  if (link.inbox_.front().kind == SimLink::Event::Kind::kConnect) {
    auto port = ports_.find(link.peer_address_);
    if (port != ports_.end()) other = port->second.endpoint;
  }
  return IsCut(link.endpoint_, other) ? 0 : link.inbox_.front().order;
}

bool SimCore::Step() {
  std::shared_ptr<SimLink> chosen;
  uint64_t best = 0;
  uint64_t candidates = 0;
  for (const std::shared_ptr<SimLink>& link : links_) {
    const uint64_t order = Ready(*link);
    if (order == 0) continue;
    ++candidates;
    // With a seed, each of n candidates is kept with probability 1/n.
    const bool take = options_.seed.has_value()
                          ? random_() % candidates == 0
                          : chosen == nullptr || order < best;
    if (!take) continue;
    chosen = link;
    best = order;
  }
  if (chosen == nullptr) return false;
  Happen(chosen);
  return true;
}

void SimCore::Happen(const std::shared_ptr<SimLink>& link) {
  if (link->closed_order_ != 0) {
    FinishClose(link);
  } else if (link->writable_order_ != 0) {
    link->writable_order_ = 0;
    link->handler_->OnWritable();
  } else {
    HappenFromPeer(link);
  }
}

void SimCore::HappenFromPeer(const std::shared_ptr<SimLink>& link) {
  const SimLink::Event event = std::move(link->inbox_.front());
  link->inbox_.pop_front();
  link->inbox_bytes_ -= event.bytes.size();
  switch (event.kind) {
    case SimLink::Event::Kind::kConnect:
      Accept(link);
      return;
    case SimLink::Event::Kind::kConnected:
      link->state_ = SimLink::State::kOpen;
      link->handler_->OnConnected(link);
      return;
    case SimLink::Event::Kind::kMessage:
      if (const std::shared_ptr<SimLink> sender = link->other_.lock()) {
        Credit(*sender, *link);
      }
      link->handler_->OnMessage(event.bytes);
      return;
    case SimLink::Event::Kind::kPeerClosed:
      BeginClose(*link, absl::UnavailableError("closed by the peer"));
      FinishClose(link);
      return;
  }
}

void SimCore::Accept(const std::shared_ptr<SimLink>& connector) {
  auto port = ports_.find(connector->peer_address_);
  if (port == ports_.end()) {
    BeginClose(*connector, absl::UnavailableError(absl::StrCat(
                               "connect to ", connector->peer_address_,
                               ": nobody listens there")));
    return;
  }
  if (connector->epoch_ < EpochOf(port->second.endpoint)) {
    BeginClose(*connector,
               absl::UnavailableError("refused: this side's epoch is over"));
    return;
  }
  auto accepted = std::make_shared<SimLink>(
      shared_from_this(), port->second.endpoint, connector->endpoint_);
  accepted->state_ = SimLink::State::kOpen;
  accepted->other_ = connector;
  accepted->other_endpoint_ = connector->endpoint_;
  connector->other_ = accepted;
  connector->other_endpoint_ = accepted->endpoint_;
  links_.push_back(accepted);
  // Ahead of what the acceptor's handler sends at once.
  Push(*connector, SimLink::Event::Kind::kConnected);
  // A copy: the callback may remove the port.
  const Acceptor acceptor = port->second.acceptor;
  accepted->handler_ = acceptor(accepted);
  if (accepted->handler_ == nullptr) {
    BeginClose(*accepted, absl::CancelledError("refused by the acceptor"));
    // The connector must not see itself connected.
    if (connector->alive()) {
      connector->inbox_.clear();
      connector->inbox_bytes_ = 0;
      Push(*connector, SimLink::Event::Kind::kPeerClosed);
    }
  }
}

void SimCore::Credit(SimLink& sender, const SimLink& receiver) {
  if (!sender.blocked_ || receiver.inbox_bytes_ > options_.credits / 2) return;
  sender.blocked_ = false;
  sender.writable_order_ = NextOrder();
}

void SimCore::FinishClose(const std::shared_ptr<SimLink>& link) {
  const std::shared_ptr<SimLink> keep = link;
  keep->state_ = SimLink::State::kClosed;
  keep->closed_order_ = 0;
  keep->writable_order_ = 0;
  links_.erase(std::remove(links_.begin(), links_.end(), keep), links_.end());
  const std::shared_ptr<LinkHandler> handler = std::move(keep->handler_);
  if (handler != nullptr) handler->OnClosed(keep->why_);
}

void SimCore::CloseNow(const std::shared_ptr<SimLink>& link) {
  if (link->state_ == SimLink::State::kClosed) return;
  BeginClose(*link, absl::CancelledError("the transport is being destroyed"));
  FinishClose(link);
}

void SimCore::CloseEndpoint(const std::string& endpoint) {
  for (auto it = ports_.begin(); it != ports_.end();) {
    it = it->second.endpoint == endpoint ? ports_.erase(it) : std::next(it);
  }
  const Links links = links_;
  for (const std::shared_ptr<SimLink>& link : links) {
    if (link->endpoint_ == endpoint) CloseNow(link);
  }
}

void SimCore::Shutdown() {
  down_ = true;
  ports_.clear();
  const Links links = links_;
  for (const std::shared_ptr<SimLink>& link : links) CloseNow(link);
}

}  // namespace kamino::transport
