// Takes connections of sessions over transport's links: kamino+shm,
// kamino+verbs, kamino+tcp.
#ifndef KAMINO_NODE_SESSION_SESSION_LINKS_H_
#define KAMINO_NODE_SESSION_SESSION_LINKS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kamino/v1/session.pb.h"
#include "node/session/session_server.h"
#include "transport/link.h"

namespace kamino::node {

class SessionLinks {
 public:
  struct Offer {
    transport::TransportFactory factory;
    std::string listen;   // "" for those that need a rendezvous
    std::string host_id;  // of those that only processes of this host can use
    // Its links live where the node's tasks run, without a loop that they would
    // be given: those of tests.
    bool lives_on_core = false;
  };

  // Listens by each offer, on the node's own thread. The server outlives this,
  // and this ends before the node stops. kAlreadyExists,
  // kInvalidArgument: as transport::Transport::Listen says.
  static absl::StatusOr<std::unique_ptr<SessionLinks>> Listen(
      const std::vector<Offer>& offers, SessionServer* server);
  ~SessionLinks();

  // Where it listens, as clients are told, in the order of the offers.
  // `address`, host:port, is where they call this node.
  std::vector<kamino::v1::Carrier> carriers(const std::string& address) const;

 private:
  SessionLinks() = default;

  struct Listening {
    Offer offer;
    std::unique_ptr<transport::Transport> transport;
    std::unique_ptr<transport::Listener> listener;
  };
  std::vector<Listening> listening_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_SESSION_LINKS_H_
