// Carries out the core's link actions on transports, and brings what happens on
// links back as events.
//
// Messages that a link has no credits for wait here, in order; the core's
// window bounds them, and a link whose queue grows past that is closed.
#ifndef KAMINO_NODE_DRIVER_LINK_HUB_H_
#define KAMINO_NODE_DRIVER_LINK_HUB_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/chain_core.h"
#include "transport/link.h"

namespace kamino::head {

class LinkHub {
 public:
  // Called on a transport's thread; must not block and must not call the hub.
  // A link that the peer opened is heard of with its first message.
  struct Events {
    std::function<void(replica::LinkId)> opened;
    std::function<void(replica::LinkId)> closed;
    // `bytes` is the message's size on the wire.
    std::function<void(replica::LinkId, kamino::internal::v1::ChainMessage,
                       size_t bytes)>
        message;
  };

  struct Options {
    // Transport for links this node opens, if the neighbour has it too; "auto":
    // shm on the same host, else verbs, else tcp.
    std::string preferred;
    // Where to listen, by transport name. An empty address stands for the
    // node's service address.
    std::map<std::string, std::string> listen;
    transport::TransportOptions transport;
    size_t max_queued_bytes = 64u << 20;  // waiting for one link's credits
    // Of where this node runs, see node/host_id.h; empty: shares memory with
    // nobody.
    std::string host_id;
  };

  // As transport::MakeTransport.
  using TransportFactory =
      std::function<absl::StatusOr<std::unique_ptr<transport::Transport>>(
          absl::string_view name, const transport::TransportOptions& options)>;

  // Listens at once. Errors name the address.
  static absl::StatusOr<std::unique_ptr<LinkHub>> Create(
      Options options, TransportFactory make_transport, Events events);
  ~LinkHub();

  // Where other nodes reach this one, by transport name. That of shm says of
  // which host it is.
  std::map<std::string, std::string> addresses() const;

  // --- Core thread only.

  void Open(replica::LinkId link, const membership::Member& member);
  void Close(replica::LinkId link);
  void Send(replica::LinkId link,
            const kamino::internal::v1::ChainMessage& message);
  // Name of the transport that carries a link; "" when it is gone.
  std::string TransportOf(replica::LinkId link);

 private:
  class Handler;
  struct Port {
    std::unique_ptr<transport::Transport> transport;
    std::unique_ptr<transport::Listener> listener;
  };
  struct Connection {
    std::shared_ptr<transport::Link> link;
    std::deque<std::string> queue;
    size_t queued_bytes = 0;
    std::string opening_to;  // the neighbour's node id until it is established
  };

  LinkHub(Options options, TransportFactory make_transport, Events events);
  absl::Status Listen(const std::string& name, const std::string& address);
  // What both sides have, the best first.
  std::vector<std::string> Usable(const membership::Member& member) const;
  // The link was established, or ended before it was.
  void OnOutcome(replica::LinkId id, bool opened);
  void Flush(replica::LinkId id);
  void FlushLocked(Connection* connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(replica::LinkId id);

  const Options options_;
  const TransportFactory make_transport_;
  const Events events_;

  absl::Mutex mutex_;
  absl::flat_hash_map<replica::LinkId, Connection> connections_
      ABSL_GUARDED_BY(mutex_);
  replica::LinkId next_accepted_ ABSL_GUARDED_BY(mutex_) = 2;  // even ones
  // Attempts in a row that failed, by node id; of all the nodes of a cluster.
  absl::flat_hash_map<std::string, int> failures_ ABSL_GUARDED_BY(mutex_);

  std::map<std::string, Port> ports_;  // last: its threads use the above
};

}  // namespace kamino::head

#endif  // KAMINO_NODE_DRIVER_LINK_HUB_H_
