// Carries out the core's link actions on transports, and reports the links'
// events to it.
//
// Messages for which a link has no credits wait here, in order. The core's
// window bounds them, and a link whose queue exceeds that is closed.
#ifndef KAMINO_NODE_DRIVER_LINK_HUB_H_
#define KAMINO_NODE_DRIVER_LINK_HUB_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/log_limit.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/core/chain_core.h"
#include "transport/link.h"

namespace kamino::node {

class LinkHub {
 public:
  // Called on a transport's thread, which may be the core's, and `closed` also
  // within Open; with no lock of the hub held. Only `message` may wait: on the
  // core's thread it may run tasks instead, which call the hub. A link that the
  // peer opened is reported with its first message.
  struct Events {
    std::function<void(replica::LinkId)> opened;
    std::function<void(replica::LinkId)> closed;
    // `payload` is valid until this returns, which may wait for room; `bytes`
    // is the message's size on the wire.
    std::function<void(replica::LinkId, kamino::internal::v1::ChainMessage,
                       absl::string_view payload, size_t bytes)>
        message;
  };

  // A transport for links with neighbours.
  struct Offer {
    transport::TransportFactory factory;
    std::string listen;  // address; of its rendezvous, if it needs one
    // host:port for other nodes; port 0: the one it listens on. Empty: the
    // address it listens on.
    std::string advertise = "";
  };

  struct Options {
    std::vector<Offer> offers;  // the best first
    // The operator has chosen the first offer: links that this node opens use
    // it if the neighbour has it too, and otherwise no transport for the same
    // host only. If false: the best that both have and that works.
    bool first_is_chosen = false;
    transport::TransportOptions transport;
    size_t max_queued_bytes = 64u << 20;  // waiting for one link's credits
    // A link that a peer opened and that stays unused here ends after so long:
    // listeners accept only so many.
    absl::Duration unused_timeout = absl::Seconds(1);
    // This node's host, see base/host_id.h; empty: it shares memory with no
    // other node.
    std::string host_id;
    // Transports authenticate the peer (Link::peer_identity). The hub ends a
    // link whose peer is not the node that it was opened to, or whose peer
    // `transport.admit` no longer accepts.
    bool knows_peers = false;
    std::string cluster_id;  // of those identities
    std::string node_id;     // this node's
    // How long this node does not dial an address again after it reached itself
    // there, by its certificate.
    absl::Duration self_dial_pause = absl::Seconds(10);
  };

  // Listens at once. Errors name the address.
  static absl::StatusOr<std::unique_ptr<LinkHub>> Create(Options options,
                                                         Events events);
  ~LinkHub();

  // The addresses at which other nodes reach this one, by transport name. A
  // rendezvous is at `service_address`; transports for the same host name the
  // host.
  std::map<std::string, std::string> Addresses(
      const std::string& service_address) const;

  // Any thread. The link takes no more messages, and `closed` follows.
  void Close(replica::LinkId link);

  // --- Core thread only.

  // Links to these members may be opened later. Resolves the names in their
  // addresses now, because the name server may be unreachable by then.
  void Expect(const std::vector<membership::Member>& members);
  // Calls `closed` at once if the neighbour has no transport that is here.
  void Open(replica::LinkId link, const membership::Member& member);
  // Sends `payload` from its place; copies it only when the link has no
  // credits.
  void Send(replica::LinkId link,
            const kamino::internal::v1::ChainMessage& message,
            absl::string_view payload);
  // To be called periodically. Ends links of peers for which `used` was false
  // for unused_timeout: the peer sent no Hello, or it was refused.
  void CloseUnused(absl::Time now,
                   absl::FunctionRef<bool(replica::LinkId)> used);
  // Name of the transport that carries a link; "" when it is gone.
  std::string TransportOf(replica::LinkId link);
  // The identity of the peer, as a URI; "": unknown.
  std::string IdentityOf(replica::LinkId link);
  // Counts of links that were ended here, by reason.
  struct Ended {
    uint64_t impostor = 0;  // the peer is another node, or has no identity
    uint64_t denied = 0;    // the peer is no longer allowed
    uint64_t nonsense = 0;  // the peer sent an undecodable message
    uint64_t unused = 0;    // unused
  };
  Ended ended() const;
  // To be called periodically: ends links of peers that are no longer allowed.
  void CloseDenied(absl::Time now);
  // Bytes over that link so far; zeros when it is gone. Waiting messages are
  // not sent yet.
  struct Traffic {
    uint64_t sent_messages = 0;
    uint64_t sent_bytes = 0;
    uint64_t received_messages = 0;
    uint64_t received_bytes = 0;
    uint64_t waiting_bytes = 0;  // for credits, or for the link to open
    uint64_t credit_waits = 0;   // how often credits lacked
  };
  Traffic TrafficOf(replica::LinkId link);

 private:
  class Handler;
  struct Port {
    transport::Capabilities kind;
    std::string advertise;
    std::unique_ptr<transport::Transport> transport;
    std::unique_ptr<transport::Listener> listener;
  };
  // Written by the transport's thread only.
  struct Received {
    std::atomic<uint64_t> messages{0};
    std::atomic<uint64_t> bytes{0};
  };
  struct Connection {
    std::shared_ptr<transport::Link> link;
    std::deque<std::string> queue;  // waiting for credits or the link
    size_t queued_bytes = 0;
    uint64_t sent_messages = 0;
    uint64_t sent_bytes = 0;
    uint64_t credit_waits = 0;
    std::shared_ptr<Received> received = std::make_shared<Received>();
    std::string opening_to;  // the neighbour's node id until it is established
    std::string opening_at;  // and its address
    std::string opened_to;   // node id after that
    absl::Time established = absl::InfiniteFuture();
    bool accepted = false;  // a peer opened it
    // Sends nothing any more; closes the link as soon as there is one.
    bool closing = false;
    // For an accepted link; InfiniteFuture: it is used, or was not examined.
    absl::Time unused_since = absl::InfiniteFuture();
  };

  LinkHub(Options options, Events events);
  // Counts and logs that `identity` is the peer of a link that was opened to
  // `expected`, or accepted ("").
  absl::Status RefuseImpostor(const std::string& identity,
                              const std::string& expected);
  absl::Status Listen(const Offer& offer);
  // The transports of both sides, the best first.
  std::vector<const Port*> Usable(const membership::Member& member) const;
  // The link was established, or ended before.
  void OnOutcome(replica::LinkId id, bool opened);
  // The peer of a link to a member is this node itself.
  bool IsSelf(const std::string& identity) const;
  void PauseSelfDial(replica::LinkId id);
  // False when the link has no credits; OnWritable follows. A message that can
  // never be sent marks the connection as closing; the caller closes the link,
  // without mutex_.
  static bool TrySend(Connection* connection, absl::string_view head,
                      absl::string_view payload);
  void Flush(replica::LinkId id);
  // Sends waiting messages as far as possible; closing as for TrySend.
  void FlushLocked(Connection* connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(replica::LinkId id);

  const Options options_;
  const Events events_;

  absl::Mutex mutex_;
  absl::flat_hash_map<replica::LinkId, Connection> connections_
      ABSL_GUARDED_BY(mutex_);
  replica::LinkId next_accepted_ ABSL_GUARDED_BY(mutex_) = 2;  // even ones
  // The state of connection attempts to a node.
  struct Way {
    int failures = 0;  // attempts in a row
    // Attempts in a row whose link was not established, or did not last.
    int opened = 0;
    // This node itself answered at self_at: no attempt there before self_until.
    std::string self_at;
    absl::Time self_until = absl::InfinitePast();
  };
  absl::flat_hash_map<std::string, Way> ways_ ABSL_GUARDED_BY(mutex_);
  absl::Time looked_ = absl::InfinitePast();  // core thread only
  struct Counts {
    std::atomic<uint64_t> impostor{0};
    std::atomic<uint64_t> denied{0};
    std::atomic<uint64_t> nonsense{0};
    std::atomic<uint64_t> unused{0};
  };
  Counts ended_;
  LogLimit damaged_;    // links that sent undecodable messages
  LogLimit impostors_;  // links with an unexpected peer

  // In the order of the offers. Last: their threads use the above.
  std::vector<Port> ports_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_LINK_HUB_H_
