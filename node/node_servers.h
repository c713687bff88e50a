// The servers of a node's process: for clients, operators and other nodes.
#ifndef KAMINO_NODE_NODE_SERVERS_H_
#define KAMINO_NODE_NODE_SERVERS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/memory_trimmer.h"
#include "logs/audit_thread.h"
#include "membership/agent/membership_agent.h"
#include "membership/agent/peer_lease_calls.h"
#include "membership/view.h"
#include "node/driver/node.h"
#include "node/listener_metrics.h"
#include "node/node_flags.h"
#include "node/node_web.h"
#include "node/rpc/backup_service.h"
#include "node/rpc/grpc_rendezvous.h"
#include "node/rpc/link_passes.h"
#include "node/rpc/node_server.h"
#include "node/rpc/session_service.h"
#include "node/session/session_links.h"
#include "node/session/session_server.h"
#include "rpc/credentials.h"
#include "rpc/server.h"
#include "security/certificates.h"
#include "security/role_flags.h"
#include "server/debug_service.h"

namespace kamino::node {

// The certificates and rights of a process; all null without TLS.
struct ProcessSecurity {
  bool on() const { return credentials != nullptr; }

  std::shared_ptr<security::Certificates> certificates;
  std::optional<security::FlaggedRoles> roles;
  std::shared_ptr<const rpc::Credentials> credentials;
};

// The calls with which other nodes set links up.
struct LinkCalls {
  void Stop() {
    rendezvous->Stop();
    if (passes != nullptr) passes->Stop();
  }

  std::shared_ptr<GrpcRendezvous> rendezvous;
  std::shared_ptr<LinkPasses> passes;  // null without TLS
};

// Counts the connections of the listener for `what`; `pages` shows the counts.
std::shared_ptr<ListenerMetrics> ListensFor(const char* what, NodeWeb* pages);

// Used by one thread, unless said otherwise.
class NodeServers {
 public:
  // The pointers outlive this.
  NodeServers(const NodeFlags* flags, const ProcessSecurity* security,
              NodeWeb* pages)
      : flags_(*flags), security_(*security), pages_(*pages) {}

  // Serves `node`, and attaches it to the pages. All outlive this. After an
  // error the caller ends what has started: EndSessions, then End.
  absl::Status Start(Node* node, membership::MembershipAgent* agent,
                     const LinkCalls& link_calls);

  // Sets how clients' calls are answered. Any thread, between Start and End.
  void SetRole(membership::Role role, bool serves) {
    server_->SetRole(role, serves);
  }

  // The node then answers the requests that have arrived.
  void EndSessions() { session_links_.reset(); }
  // Calls are neither accepted nor awaited any more.
  void End();

  // The address of clients' calls; known after Start.
  const std::string& address() const { return address_; }
  // The address of nodes' calls; "": address().
  const std::string& peer_address() const { return peer_address_; }

 private:
  void MakeServices(Node* node, membership::MembershipAgent* agent);
  // Other nodes' calls have a server of their own, if flags or TLS say so;
  // otherwise `services` gets theirs.
  absl::Status StartPeers(const LinkCalls& link_calls,
                          std::vector<grpc::Service*>* services);

  const NodeFlags& flags_;
  const ProcessSecurity& security_;
  NodeWeb& pages_;

  // Operators' calls end on this thread.
  logs::AuditThread audit_thread_;
  std::optional<membership::PeerLeaseServer> peer_lease_server_;
  MemoryTrimmer trimmer_;
  std::optional<SessionServer> sessions_;
  std::optional<SessionService> session_service_;
  std::optional<BackupService> backups_;
  std::optional<server::DebugService> debug_;
  std::unique_ptr<SessionLinks> session_links_;
  std::unique_ptr<rpc::Server> peers_;  // null: they use the clients' server
  std::unique_ptr<NodeServer> server_;

  std::string address_;
  std::string peer_address_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_NODE_SERVERS_H_
