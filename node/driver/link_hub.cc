#include "node/driver/link_hub.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/is_told.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "membership/member_identity.h"
#include "replica/link/chain_frame.h"

namespace kamino::node {
namespace {

using kamino::internal::v1::ChainMessage;
using replica::LinkId;
using transport::Link;

absl::Span<const std::byte> AsBytes(absl::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Attempts with one transport before the next one has its turn.
constexpr int kAttemptsPerTransport = 2;

// A link that was established for so long was not refused.
constexpr absl::Duration kLasting = absl::Seconds(1);

// Separates an address from its host.
constexpr char kHostMark[] = "#";

std::string HostOf(const std::string& address) {
  const size_t mark = address.rfind(kHostMark);
  return mark == std::string::npos ? "" : address.substr(mark + 1);
}

std::string PathOf(const std::string& address) {
  return address.substr(0, address.rfind(kHostMark));
}

// The address at which others reach the listener at `own`, host:port.
std::string Advertised(const std::string& advertise, const std::string& own) {
  if (advertise.empty()) return own;
  const size_t colon = advertise.rfind(':');
  if (advertise.substr(colon) != ":0") return advertise;
  return absl::StrCat(advertise.substr(0, colon), own.substr(own.rfind(':')));
}

}  // namespace

// The transport's view of one link.
class LinkHub::Handler : public transport::LinkHandler {
 public:
  // `expected`: the expected peer; "": any.
  Handler(LinkHub* hub, LinkId id, std::shared_ptr<Received> received,
          std::string expected = "")
      : hub_(hub),
        id_(id),
        received_(std::move(received)),
        expected_(std::move(expected)) {}

  absl::Status OnPeerKnown(const std::string& identity) override {
    if (expected_.empty()) return absl::OkStatus();
    if (identity != expected_) {
      if (hub_->IsSelf(identity)) hub_->PauseSelfDial(id_);
      return hub_->RefuseImpostor(identity, expected_);
    }
    const auto& admit = hub_->options_.transport.admit;
    return admit == nullptr ? absl::OkStatus() : admit(identity);
  }

  void OnConnected(const std::shared_ptr<Link>&) override {
    hub_->OnOutcome(id_, true);
    hub_->events_.opened(id_);
  }

  void OnMessage(absl::Span<const std::byte> bytes) override {
    if (damaged_) return;  // after a gap; the link may not be closed yet
    Count(&received_->messages, 1);
    Count(&received_->bytes, bytes.size());
    auto frame = replica::DecodeFrame(
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!frame.ok()) {
      const auto end = hub_->damaged_.Take(MonotonicNow());
      LOG_IF(WARNING, end.has_value())
          << "closed a link that sent " << bytes.size()
          << " bytes: " << frame.status().message() << *end;
      damaged_ = true;
      hub_->ended_.nonsense.fetch_add(1, std::memory_order_relaxed);
      hub_->Close(id_);
      return;
    }
    hub_->events_.message(id_, std::move(frame->message), frame->payload,
                          bytes.size());
  }

  void OnWritable() override { hub_->Flush(id_); }

  void OnClosed(const absl::Status& why) override {
    VLOG(1) << "link " << id_ << " closed: " << why;
    hub_->OnOutcome(id_, false);
    hub_->Forget(id_);
    hub_->events_.closed(id_);
  }

 private:
  static void Count(std::atomic<uint64_t>* counter, uint64_t n) {
    counter->store(counter->load(std::memory_order_relaxed) + n,
                   std::memory_order_relaxed);
  }

  LinkHub* const hub_;
  const LinkId id_;
  const std::shared_ptr<Received> received_;
  const std::string expected_;
  bool damaged_ = false;  // by an undecodable message
};

LinkHub::LinkHub(Options options, Events events)
    : options_(std::move(options)), events_(std::move(events)) {}

absl::StatusOr<std::unique_ptr<LinkHub>> LinkHub::Create(Options options,
                                                         Events events) {
  auto hub =
      absl::WrapUnique(new LinkHub(std::move(options), std::move(events)));
  for (const Offer& offer : hub->options_.offers) {
    RETURN_IF_ERROR(hub->Listen(offer));
  }
  return hub;
}

LinkHub::~LinkHub() {
  // Joins the transports' threads; handlers still call into the hub meanwhile.
  ports_.clear();
}

absl::Status LinkHub::Listen(const Offer& offer) {
  Port port{offer.factory.capabilities(), offer.advertise, nullptr, nullptr};
  transport::TransportOptions options = options_.transport;
  // Over other transports a Hello of an old view gets an answer, which says
  // more.
  if (!port.kind.one_sided) options.era = nullptr;
  ASSIGN_OR_RETURN(port.transport, offer.factory.Make(options));
  auto listener =
      port.transport->Listen(offer.listen, [this](std::shared_ptr<Link> link) {
        if (options_.knows_peers && link->peer_identity().empty()) {
          (void)RefuseImpostor("", "");
          return std::shared_ptr<Handler>();
        }
        absl::MutexLock lock(&mutex_);
        const LinkId id = next_accepted_;
        next_accepted_ += 2;
        Connection& connection = connections_[id];
        connection.link = std::move(link);
        connection.accepted = true;
        return std::make_shared<Handler>(this, id, connection.received);
      });
  if (!listener.ok()) {
    return absl::Status(
        listener.status().code(),
        absl::StrCat("cannot listen for chain links on ", port.kind.name, " ",
                     offer.listen, ": ", listener.status().message()));
  }
  port.listener = std::move(*listener);
  ports_.push_back(std::move(port));
  return absl::OkStatus();
}

std::map<std::string, std::string> LinkHub::Addresses(
    const std::string& service_address) const {
  std::map<std::string, std::string> addresses;
  for (const Port& port : ports_) {
    std::string& address = addresses[std::string(port.kind.name)];
    address = port.kind.needs_rendezvous
                  ? service_address
                  : Advertised(port.advertise, port.listener->address());
    if (port.kind.same_host_only) {
      absl::StrAppend(&address, kHostMark, options_.host_id);
    }
  }
  return addresses;
}

std::vector<const LinkHub::Port*> LinkHub::Usable(
    const membership::Member& member) const {
  std::vector<const Port*> usable;
  for (const Port& port : ports_) {
    const auto address =
        member.link_addresses.find(std::string(port.kind.name));
    if (address == member.link_addresses.end()) continue;
    const bool chosen = options_.first_is_chosen && &port == &ports_.front();
    // If the operator chose a transport for one host, it is for this host.
    if (port.kind.same_host_only && !chosen &&
        (options_.first_is_chosen || options_.host_id.empty() ||
         HostOf(address->second) != options_.host_id)) {
      continue;
    }
    usable.push_back(&port);
  }
  return usable;
}

void LinkHub::Expect(const std::vector<membership::Member>& members) {
  for (const membership::Member& member : members) {
    for (const Port* port : Usable(member)) {
      if (port->kind.same_host_only || port->kind.needs_rendezvous) continue;
      port->transport->Expect(
          member.link_addresses.at(std::string(port->kind.name)));
    }
  }
}

void LinkHub::OnOutcome(LinkId id, bool opened) {
  absl::MutexLock lock(&mutex_);
  auto found = connections_.find(id);
  if (found == connections_.end() || found->second.opening_to.empty()) return;
  Connection& connection = found->second;
  Way& way = ways_[connection.opening_to];
  way.failures = opened ? 0 : way.failures + 1;
  if (opened) {
    connection.opened_to = connection.opening_to;
    connection.established = MonotonicNow();
  }
  connection.opening_to.clear();
}

void LinkHub::Open(LinkId id, const membership::Member& member) {
  const std::vector<const Port*> usable = Usable(member);
  if (usable.empty()) {
    LOG(ERROR) << "no transport in common with " << member.node_id;
    events_.closed(id);
    return;
  }
  Way way;
  {
    absl::MutexLock lock(&mutex_);
    way = ways_[member.node_id];
    ++ways_[member.node_id].opened;
  }
  const int failures = way.failures;
  // If the choice is the node's, a transport that does not get through gives
  // way to the next, in turn.
  const size_t turn = options_.first_is_chosen
                          ? 0
                          : failures / kAttemptsPerTransport % usable.size();
  const Port& port = *usable[turn];
  std::string address = member.link_addresses.at(std::string(port.kind.name));
  if (port.kind.same_host_only) address = PathOf(address);
  if (address == way.self_at && MonotonicNow() < way.self_until) {
    return events_.closed(id);
  }
  LOG_IF(INFO, IsTold(way.opened))
      << "opens a link to " << member.node_id << " over " << port.kind.name
      << " at " << address << ", attempt " << way.opened + 1;
  std::shared_ptr<Handler> handler;
  {
    // Before connecting: the handler may be called before Connect returns.
    absl::MutexLock lock(&mutex_);
    Connection& connection = connections_[id];
    connection.opening_to = member.node_id;
    connection.opening_at = address;
    handler = std::make_shared<Handler>(
        this, id, connection.received,
        options_.knows_peers
            ? membership::IdentityOf(options_.cluster_id, member)
            : "");
  }
  auto link = port.transport->Connect(address, std::move(handler));
  if (!link.ok()) {
    LOG_IF(ERROR, IsTold(failures))
        << "cannot connect to " << member.node_id << " at " << address << ": "
        << link.status();
    OnOutcome(id, false);
    Forget(id);
    events_.closed(id);
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    auto found = connections_.find(id);
    if (found == connections_.end()) return;  // closed already
    found->second.link = *link;
    FlushLocked(&found->second);
    if (!found->second.closing) return;
  }
  (*link)->Close();
}

void LinkHub::Close(LinkId id) {
  std::shared_ptr<Link> link;
  {
    absl::MutexLock lock(&mutex_);
    auto found = connections_.find(id);
    if (found == connections_.end()) return;
    link = found->second.link;
    found->second.closing = true;
    found->second.queue.clear();
    found->second.queued_bytes = 0;
  }
  if (link != nullptr) link->Close();
}

LinkHub::Ended LinkHub::ended() const {
  return {ended_.impostor.load(std::memory_order_relaxed),
          ended_.denied.load(std::memory_order_relaxed),
          ended_.nonsense.load(std::memory_order_relaxed),
          ended_.unused.load(std::memory_order_relaxed)};
}

void LinkHub::CloseUnused(absl::Time now,
                          absl::FunctionRef<bool(LinkId)> used) {
  std::map<LinkId, std::shared_ptr<Link>> unused;
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [id, connection] : connections_) {
      if (!connection.accepted) continue;
      absl::Time& since = connection.unused_since;
      since = used(id) ? absl::InfiniteFuture() : std::min(since, now);
      if (now - since < options_.unused_timeout) continue;
      unused[id] = connection.link;
      since = now;  // until it is gone
    }
  }
  for (const auto& [id, link] : unused) {
    const uint64_t so_far =
        ended_.unused.fetch_add(1, std::memory_order_relaxed) + 1;
    LOG_IF(WARNING, IsTold(static_cast<int64_t>(so_far)))
        << "closed a link from " << link->peer()
        << ": this node does not need it; such links so far: " << so_far;
    link->Close();
  }
}

bool LinkHub::TrySend(Connection* connection, absl::string_view head,
                      absl::string_view payload) {
  absl::Status sent = connection->link->Send(AsBytes(head), AsBytes(payload));
  if (absl::IsResourceExhausted(sent)) {
    ++connection->credit_waits;
    return false;
  }
  if (sent.ok()) {
    ++connection->sent_messages;
    connection->sent_bytes += head.size() + payload.size();
  }
  if (absl::IsUnavailable(sent)) {
    VLOG(1) << "message dropped with its link: " << sent;
  } else if (absl::IsInvalidArgument(sent)) {
    LOG(ERROR) << "closes a link that cannot carry a message of "
               << head.size() + payload.size() << " bytes: " << sent;
    connection->closing = true;
  }
  return true;
}

void LinkHub::Send(LinkId id, const ChainMessage& message,
                   absl::string_view payload) {
  std::string head = replica::EncodeFrameHead(message);
  absl::ReleasableMutexLock lock(&mutex_);
  auto found = connections_.find(id);
  // The core learns of it soon.
  if (found == connections_.end() || found->second.closing) return;
  Connection& connection = found->second;
  // If messages wait, OnWritable is due, and new ones wait behind them.
  if (connection.link == nullptr || !connection.queue.empty() ||
      !TrySend(&connection, head, payload)) {
    head.append(payload.data(), payload.size());
    connection.queued_bytes += head.size();
    connection.queue.push_back(std::move(head));
    if (connection.link == nullptr) return;
    if (connection.queued_bytes > options_.max_queued_bytes) {
      LOG(WARNING) << "closed a link with " << connection.queued_bytes
                   << " bytes waiting for it";
      connection.closing = true;
    }
  }
  if (!connection.closing) return;
  std::shared_ptr<Link> link = connection.link;
  lock.Release();
  link->Close();
}

void LinkHub::Flush(LinkId id) {
  absl::ReleasableMutexLock lock(&mutex_);
  auto found = connections_.find(id);
  if (found == connections_.end() || found->second.link == nullptr) return;
  FlushLocked(&found->second);
  if (!found->second.closing) return;
  std::shared_ptr<Link> link = found->second.link;
  lock.Release();
  link->Close();
}

void LinkHub::FlushLocked(Connection* connection) {
  while (!connection->closing && !connection->queue.empty()) {
    const std::string& frame = connection->queue.front();
    if (!TrySend(connection, frame, {})) return;
    connection->queued_bytes -= frame.size();
    connection->queue.pop_front();
  }
}

void LinkHub::Forget(LinkId id) {
  absl::MutexLock lock(&mutex_);
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const Connection& connection = found->second;
  if (!connection.opened_to.empty() &&
      MonotonicNow() - connection.established >= kLasting) {
    ways_[connection.opened_to].opened = 0;
  }
  connections_.erase(found);
}

std::string LinkHub::TransportOf(LinkId id) {
  absl::MutexLock lock(&mutex_);
  auto found = connections_.find(id);
  if (found == connections_.end() || found->second.link == nullptr) return "";
  return std::string(found->second.link->capabilities().name);
}

std::string LinkHub::IdentityOf(LinkId id) {
  absl::MutexLock lock(&mutex_);
  auto found = connections_.find(id);
  if (found == connections_.end() || found->second.link == nullptr) return "";
  return found->second.link->peer_identity();
}

LinkHub::Traffic LinkHub::TrafficOf(LinkId id) {
  absl::MutexLock lock(&mutex_);
  const auto found = connections_.find(id);
  if (found == connections_.end()) return {};
  const Connection& connection = found->second;
  Traffic traffic;
  traffic.sent_messages = connection.sent_messages;
  traffic.sent_bytes = connection.sent_bytes;
  traffic.received_messages =
      connection.received->messages.load(std::memory_order_relaxed);
  traffic.received_bytes =
      connection.received->bytes.load(std::memory_order_relaxed);
  traffic.waiting_bytes = connection.queued_bytes;
  traffic.credit_waits = connection.credit_waits;
  return traffic;
}

}  // namespace kamino::node
