// Accepts session connections over transport links: kamino+shm, kamino+verbs,
// kamino+tcp.
#ifndef KAMINO_NODE_SESSION_SESSION_LINKS_H_
#define KAMINO_NODE_SESSION_SESSION_LINKS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kamino/v1/session.pb.h"
#include "node/session/session_server.h"
#include "security/certificates.h"
#include "transport/link.h"

namespace kamino::node {

// How many TCP links one listener accepts, given the process's limit of
// descriptors: at least half of them are left to clients' calls and the node
// itself.
int MaxTcpLinks(uint64_t descriptors);

class SessionLinks {
 public:
  struct Offer {
    transport::TransportFactory factory;
    std::string listen;   // "" for those that need a rendezvous
    std::string host_id;  // for transports within one host
    // Its links run on the node's task thread without a loop: in tests.
    bool lives_on_core = false;
  };

  // Listens by each offer, on the node's own thread. The server outlives this,
  // and this ends before the node stops. `certificates`, `events`: as in
  // TransportOptions; with certificates the server must know the peers' rights.
  // kAlreadyExists, kInvalidArgument: as transport::Transport::Listen.
  static absl::StatusOr<std::unique_ptr<SessionLinks>> Listen(
      const std::vector<Offer>& offers, SessionServer* server,
      std::shared_ptr<security::Certificates> certificates = nullptr,
      std::shared_ptr<transport::ListenerEvents> events = nullptr);
  ~SessionLinks();

  // The number of client links, including those not established. Any thread,
  // also after this has ended.
  std::function<int()> live() const {
    return [live = live_] { return live->load(); };
  }

  // Its addresses for clients, in the order of the offers. `address`,
  // host:port, is where clients call this node.
  std::vector<kamino::v1::Carrier> carriers(const std::string& address) const;

 private:
  SessionLinks() = default;

  struct Listening {
    Offer offer;
    std::unique_ptr<transport::Transport> transport;
    std::unique_ptr<transport::Listener> listener;
  };
  const std::shared_ptr<std::atomic<int>> live_ =
      std::make_shared<std::atomic<int>>(0);
  std::vector<Listening> listening_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_SESSION_LINKS_H_
