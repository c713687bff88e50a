#include "node/session/session_links.h"

#include <sys/resource.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "proto/session_frame.h"

namespace kamino::node {
namespace {

using transport::Link;

// Links of one listener. Each may use two rings of kRingBytes, or its
// connection's limits; one over verbs also locked memory
// (transport/verbs/send_transport.h).
constexpr int kMaxTcpLinks = 16384;
// Descriptors of calls (rpc::Acceptor::Options::max_descriptors), of their
// reserve, and of links of other kinds.
constexpr uint64_t kDescriptorsOfOthers = 4096 + 512;
constexpr int kMaxVerbsLinks = 512;
constexpr int kMaxSharedLinks = 64;
// For one listener: clients of one host may all connect at once.
constexpr int kMaxHalfOpen = 2048;
// Handshakes per second, at a millisecond of the core thread each: two fifths
// of it for addresses without recent links, a fifth for one address.
constexpr transport::ComeRate kCome = {400, 1000};
constexpr transport::ComeRate kComeOfAddress = {200, 500};
constexpr size_t kRingBytes = size_t{8} << 20;
constexpr size_t kSendBuffer = session::kMaxFrameBytes + 4096;

absl::Span<const std::byte> BytesOf(absl::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

uint64_t DescriptorLimit() {
  rlimit limit = {};
  PCHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  return limit.rlim_cur;
}

// A link, once for its handler and once for the carrier; both live on the
// node's core thread.
class LinkCarrier final : public SessionCarrier {
 public:
  explicit LinkCarrier(std::shared_ptr<Link> link) : link_(std::move(link)) {}
  ~LinkCarrier() override { link_->Close(); }

  void Send(std::string frame) override {
    waiting_bytes_ += frame.size();
    waiting_.push_back(std::move(frame));
    if (waiting_.size() == 1) SendWaiting();
  }
  size_t unsent() const override {
    return waiting_bytes_ + link_->held().unsent;
  }
  size_t unfinished() const override { return link_->held().unfinished; }
  void Close() override {
    closing_ = true;
    if (waiting_.empty()) link_->Close();
  }
  void Abort() override { link_->Close(); }
  std::string peer() const override { return link_->peer(); }
  std::string identity() const override { return link_->peer_identity(); }

  void OnWritable() override { SendWaiting(); }

 private:
  void SendWaiting() {
    while (!waiting_.empty()) {
      const absl::Status sent = link_->Send({}, BytesOf(waiting_.front()));
      if (absl::IsResourceExhausted(sent)) return;
      waiting_bytes_ -= waiting_.front().size();
      waiting_.pop_front();
      if (!sent.ok()) link_->Close();  // the rest is refused as well
    }
    if (closing_) link_->Close();
  }

  const std::shared_ptr<Link> link_;
  std::deque<std::string> waiting_;
  size_t waiting_bytes_ = 0;
  bool closing_ = false;
};

class SessionLinkHandler final : public transport::LinkHandler {
 public:
  SessionLinkHandler(SessionServer* server, std::shared_ptr<Link> link)
      : server_(server), id_(server->NewId()) {
    auto carrier = std::make_unique<LinkCarrier>(std::move(link));
    server_->Open(id_, std::move(carrier));  // on the core thread's loop
  }

  void OnMessage(absl::Span<const std::byte> message) override {
    server_->Queue(id_,
                   std::string(reinterpret_cast<const char*>(message.data()),
                               message.size()));
  }

  void OnWritable() override {
    server_->node()->Run(
        [server = server_, id = id_](ChainNode&) { server->OnWritable(id); });
  }

  void OnClosed(const absl::Status&) override {
    server_->node()->Run(
        [server = server_, id = id_](ChainNode&) { server->OnClosed(id); });
  }

 private:
  SessionServer* const server_;
  const uint64_t id_;
};

int MaxLinks(const transport::Capabilities& kind) {
  if (kind.same_host_only) return kMaxSharedLinks;
  if (kind.needs_rendezvous) return kMaxVerbsLinks;
  const int links = MaxTcpLinks(DescriptorLimit());
  LOG_IF(WARNING, links < kMaxTcpLinks)
      << "sessions: " << links << " links over tcp, not " << kMaxTcpLinks
      << ": the process may have " << DescriptorLimit()
      << " descriptors; raise the hard limit of open files to "
      << kMaxTcpLinks + kDescriptorsOfOthers
      << " (docs/operate/operations.md, Connections)";
  return links;
}

// The clients' address of the listener at `own`; they call the node at
// `service`.
std::string AddressFor(const transport::Capabilities& kind,
                       const std::string& own, const std::string& service) {
  if (kind.needs_rendezvous) return service;
  if (kind.same_host_only) return own;
  return absl::StrCat(service.substr(0, service.rfind(':')),
                      own.substr(own.rfind(':')));
}

}  // namespace

int MaxTcpLinks(uint64_t descriptors) {
  const uint64_t others =
      std::min<uint64_t>(kDescriptorsOfOthers, descriptors / 2);
  return static_cast<int>(
      std::min<uint64_t>(kMaxTcpLinks, descriptors - others));
}

absl::StatusOr<std::unique_ptr<SessionLinks>> SessionLinks::Listen(
    const std::vector<Offer>& offers, SessionServer* server,
    std::shared_ptr<security::Certificates> certificates,
    std::shared_ptr<transport::ListenerEvents> events) {
  CHECK(certificates == nullptr || server->checks_access())
      << "with certificates the server must check access";
  auto links = absl::WrapUnique(new SessionLinks());
  for (const Offer& offer : offers) {
    transport::TransportOptions options;
    options.max_message = session::kMaxFrameBytes;
    options.send_buffer = kSendBuffer;
    options.ring_bytes = kRingBytes;
    CHECK(!offer.factory.capabilities().one_sided)
        << "clients have no keys to a node's memory";
    options.max_accepted = MaxLinks(offer.factory.capabilities());
    // One host's links must not keep all others out.
    options.max_of_address = std::max(1, options.max_accepted * 3 / 4);
    options.max_half_open = kMaxHalfOpen;
    options.max_half_open_of_address = kMaxHalfOpen / 2;
    options.accepted = links->live_;
    options.certificates = certificates;
    if (certificates != nullptr) {
      options.come = kCome;
      options.come_of_address = kComeOfAddress;
    }
    options.events = events;
    options.loop = server->node()->loop();
    CHECK(options.loop != nullptr || offer.lives_on_core)
        << "links of sessions live on the node's";
    ASSIGN_OR_RETURN(auto transport, offer.factory.Make(options));
    ASSIGN_OR_RETURN(
        auto listener,
        transport->Listen(offer.listen, [server](std::shared_ptr<Link> link) {
          return std::make_shared<SessionLinkHandler>(server, std::move(link));
        }));
    links->listening_.push_back(
        {offer, std::move(transport), std::move(listener)});
  }
  return links;
}

SessionLinks::~SessionLinks() {
  for (Listening& each : listening_) each.listener.reset();
}

std::vector<kamino::v1::Carrier> SessionLinks::carriers(
    const std::string& address) const {
  std::vector<kamino::v1::Carrier> carriers;
  for (const Listening& each : listening_) {
    kamino::v1::Carrier carrier;
    const transport::Capabilities kind = each.offer.factory.capabilities();
    carrier.set_transport(std::string(kind.name));
    carrier.set_address(AddressFor(kind, each.listener->address(), address));
    carrier.set_host_id(each.offer.host_id);
    carriers.push_back(std::move(carrier));
  }
  return carriers;
}

}  // namespace kamino::node
