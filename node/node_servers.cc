#include "node/node_servers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "node/node_links.h"
#include "node/reachable.h"

namespace kamino::node {
namespace {

// Limit for other nodes' calls, which have some hundred bytes.
constexpr int kMaxPeerRequestBytes = 64 << 10;

std::string HostOf(const std::string& address) {
  return address.substr(0, address.rfind(':'));
}

std::string Advertised(const NodeFlags& flags, int port) {
  if (!flags.advertise.empty()) return flags.advertise;
  return absl::StrCat(HostOf(flags.listen), ":", port);
}

// The address for other nodes' calls; "": the clients' server.
std::string PeerListen(const NodeFlags& flags, bool secure) {
  if (!flags.peer_listen.empty() || !secure) return flags.peer_listen;
  return absl::StrCat(HostOf(flags.listen), ":0");
}

}  // namespace

std::shared_ptr<ListenerMetrics> ListensFor(const char* what, NodeWeb* pages) {
  auto counts = std::make_shared<ListenerMetrics>(what);
  pages->Add(
      [counts](metrics::Families* families) { counts->Describe(families); });
  return counts;
}

void NodeServers::MakeServices(Node* node, membership::MembershipAgent* agent) {
  peer_lease_server_.emplace(agent);
  SessionServerOptions options;
  options.on_much_freed = [this] { trimmer_.Ask(); };
  options.access = security_.roles->access().get();
  sessions_.emplace(options, node);
  session_service_.emplace(&*sessions_);
  backups_.emplace(node, &audit_thread_);
  debug_.emplace(
      "kamino_node", &node->cluster(), [this] { return pages_.Metrics(); },
      &audit_thread_);
}

absl::Status NodeServers::Start(Node* node, membership::MembershipAgent* agent,
                                const LinkCalls& link_calls) {
  MakeServices(node, agent);
  ASSIGN_OR_RETURN(session_links_, SessionLinks::Listen(
                                       SessionOffers(flags_, *session_service_),
                                       &*sessions_, security_.certificates,
                                       ListensFor("sessions", &pages_)));
  std::vector<grpc::Service*> services = {&*session_service_, &*backups_,
                                          &*debug_};
  RETURN_IF_ERROR(StartPeers(link_calls, &services));
  ASSIGN_OR_RETURN(
      server_,
      NodeServer::Start(flags_.listen, node, services, session_links_->live(),
                        security_.credentials, security_.roles->access()));
  pages_.Attach(node, agent);
  address_ = Advertised(flags_, server_->port());
  if (peers_ != nullptr) {
    peer_address_ = absl::StrCat(HostOf(address_), ":", peers_->port());
  }
  BoundAddresses bound;
  bound.service = server_->addresses();
  if (peers_ != nullptr) bound.peers = peers_->addresses();
  bound.links = {node->links().Addresses(/*service_address=*/"")["tcp"]};
  RETURN_IF_ERROR(CheckReachable(flags_, bound));
  session_service_->SetCarriers(session_links_->carriers(address_));
  return absl::OkStatus();
}

absl::Status NodeServers::StartPeers(const LinkCalls& link_calls,
                                     std::vector<grpc::Service*>* services) {
  std::vector<grpc::Service*> of_peers = {link_calls.rendezvous.get(),
                                          &*peer_lease_server_};
  if (link_calls.passes != nullptr) of_peers.push_back(link_calls.passes.get());
  const std::string peer_listen = PeerListen(flags_, security_.on());
  if (peer_listen.empty()) {
    services->insert(services->end(), of_peers.begin(), of_peers.end());
  } else {
    rpc::ServerOptions apart;
    apart.listen = peer_listen;
    apart.max_request_bytes = kMaxPeerRequestBytes;
    apart.credentials = security_.credentials;
    apart.access = security_.roles->access();
    ASSIGN_OR_RETURN(peers_, rpc::Server::Start(apart, of_peers));
  }
  return absl::OkStatus();
}

void NodeServers::End() {
  server_.reset();
  peers_.reset();
}

}  // namespace kamino::node
