// The interface that every transport implements: links between processes that
// carry opaque messages.
//
// Invariants of every link:
//   1. Messages arrive whole, in the order Send accepted them, each at most
//      once. A link that cannot keep this closes.
//   2. What Send accepted may be lost only together with the link: until
//      OnClosed there is no gap.
//   3. Bytes accepted and not yet taken over by the mover (kernel, peer's ring)
//      are bounded by the link's credits.
//   4. Callbacks run on the transport's thread, one at a time, with no internal
//      lock held, and never from inside Send or Close. A callback may call
//      anything here except the destructor of its own transport.
//
// Ownership: the transport keeps a live link and its handler alive and lets go
// of both after OnClosed, so a handler may own its link. A link object outlives
// its transport safely; it is then closed.
#ifndef KAMINO_TRANSPORT_LINK_H_
#define KAMINO_TRANSPORT_LINK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace kamino::security {
class Certificates;
}  // namespace kamino::security

namespace kamino::transport {

class EventLoop;

// The features of a kind of transport, or of one of its links. Users test
// these, never a name.
struct Capabilities {
  // The kind, in addresses, statuses and log lines: "tcp". Never empty.
  absl::string_view name;
  // Largest message: header and payload together, in bytes. For a kind: the
  // upper bound of TransportOptions::max_message. For a link: this side's own
  // limit before it is established, then the smaller of both sides'.
  size_t max_message = size_t{1} << 30;
  // Both ends must be on one host. Addresses do not show this; the connector
  // must know.
  bool same_host_only = false;
  // The ends find each other over a channel that the user gave to the factory.
  // An address says where that channel reaches the peer; a listener uses "" for
  // its own.
  bool needs_rendezvous = false;
  // The peer writes into this side's memory without this side's CPU. So a stale
  // peer must be refused before a link exists, by TransportOptions::era; over
  // other links an answer can refuse it and say why.
  bool one_sided = false;
};

// One end of an ordered, reliable stream of messages. Thread-safe.
class Link {
 public:
  virtual ~Link() = default;

  // Sends `header` followed by `payload` as one message (either may be empty).
  // Never blocks; both pieces may be reused on return. Success means accepted,
  // not delivered.
  //
  // kResourceExhausted: out of credits; nothing was sent and OnWritable will
  // follow. kInvalidArgument: over capabilities().max_message. kUnavailable:
  // closed, or not yet established.
  virtual absl::Status Send(absl::Span<const std::byte> header,
                            absl::Span<const std::byte> payload) = 0;

  // Starts closing and returns at once; OnClosed(kCancelled) follows unless
  // the link was closing already. Messages in flight either way may be lost.
  virtual void Close() = 0;

  virtual Capabilities capabilities() const = 0;

  // Memory that the link itself holds for messages, in bytes. The transport's
  // thread only. Zero for a link whose messages lie in rings.
  struct Held {
    // Accepted by Send and not yet by the peer's host; 0 once the mover has
    // taken everything.
    size_t unsent = 0;
    // Received bytes of an incomplete message.
    size_t unfinished = 0;
  };
  virtual Held held() const { return {}; }

  // For log lines and error texts only.
  virtual std::string peer() const = 0;

  // The identity that the peer has proved, as a URI (security/identity.h).
  // Known and constant from OnPeerKnown or the acceptor on, also after the link
  // is closed. "": none, as for all links without TLS.
  virtual std::string peer_identity() const { return ""; }
};

// Implemented by a link's user. Called on the transport's thread only.
class LinkHandler {
 public:
  virtual ~LinkHandler() = default;

  // Connector's side only, once, before OnConnected, if the transport has
  // certificates: whether the peer is the one that the link was to reach. An
  // error closes the link with it; no user data has been sent by then.
  virtual absl::Status OnPeerKnown(const std::string& identity) {
    (void)identity;
    return absl::OkStatus();
  }

  // Connector's side only, once, before any OnMessage. May run before Connect
  // has returned, hence the argument, which is the link Connect returns.
  virtual void OnConnected(const std::shared_ptr<Link>& link) { (void)link; }

  // The bytes are a private copy, stable until OnMessage returns. They have no
  // particular alignment.
  virtual void OnMessage(absl::Span<const std::byte> message) = 0;

  // Credits came back after Send said kResourceExhausted. Send may say so
  // again, for a large message; then OnWritable comes again.
  virtual void OnWritable() {}

  // Exactly once, last. `why` is never OK:
  //   kCancelled           this side closed it, or destroyed the transport
  //   kUnavailable         the peer closed, died or cannot be reached
  //   kDeadlineExceeded    not established within the connect timeout
  //   kFailedPrecondition  the peer does not speak this protocol or version
  //   kDataLoss            the peer sent what no correct peer sends
  //   kUnauthenticated     one side does not accept the other's certificate, or
  //                        not any more
  //   kPermissionDenied    the peer is not allowed at the other end
  virtual void OnClosed(const absl::Status& why) = 0;
};

// Stops accepting when destroyed; links accepted before live on. Once the
// destructor has returned the acceptor is not called any more.
class Listener {
 public:
  virtual ~Listener() = default;

  // The bound address, in the form that Connect takes; a port 0 is resolved.
  virtual const std::string& address() const = 0;
};

// Called on the transport's thread for each established incoming link. Returns
// the link's handler, or nullptr to refuse it. Send already works.
using AcceptCallback =
    std::function<std::shared_ptr<LinkHandler>(std::shared_ptr<Link>)>;

// Why a listener refused a peer, or ended its link early.
enum class LinkRefusal {
  kTooMany,            // limit of links
  kTooManyOfAddress,   // limit of links from the peer's address
  kTooManyOfIdentity,  // limit of links of the peer's identity
  kHalfOpen,           // limit of links that are not established
  kTooOften,           // limit of the rate of new links
  kTimeout,            // not established in time
  kPlaintext,          // the peer did not begin with TLS
  kHandshake,          // TLS failed, but not for its certificate
  kCertificate,        // no valid certificate or pass
  kNotAdmitted,        // the peer is not allowed at the other end
  kProtocol,           // other protocol or version
  kOther,              // the peer left, or its era is over
};
inline constexpr int kLinkRefusals = 12;
// As in the metric's label: "too_many".
absl::string_view LinkRefusalName(LinkRefusal refusal);

// Observes peers that connect to listeners, for metrics. Called on the
// transport's thread.
class ListenerEvents {
 public:
  virtual ~ListenerEvents() = default;
  // The number of incoming links that are not established changed by `change`.
  virtual void OnHalfOpen(int change) = 0;
  // A link is established, `took` after its peer connected.
  virtual void OnEstablished(absl::Duration took) = 0;
  virtual void OnRefused(LinkRefusal why) = 0;
};

// How many peers may connect to a listener: a rate in the long run, and a burst
// after a quiet time.
struct ComeRate {
  double per_second = 0;  // 0: no limit
  double burst = 0;       // at least 1 if there is a limit
};

// Options for transports of every kind. Options of one kind go to its factory.
struct TransportOptions {
  // Bytes of the largest message this side sends or accepts.
  size_t max_message = size_t{5} << 20;
  // tcp, verbs without rings: credits of a link, bytes accepted by Send and not
  // yet by the kernel, or the peer. At least max_message and 64 bytes.
  size_t send_buffer = size_t{16} << 20;
  // shm, verbs with rings: credits of a link, bytes of each direction's ring.
  // Rounded up to a power of two; at least max_message and 64 bytes.
  size_t ring_bytes = size_t{8} << 20;
  // shm, verbs: how long to poll for the next message before sleeping, as long
  // as polling finds a message now and then.
  absl::Duration spin = absl::Microseconds(20);
  // Limit for a link to be established, at both ends.
  absl::Duration connect_timeout = absl::Seconds(5);
  // tcp, verbs: how long a peer may be silent to keep-alives, or leave sent
  // bytes unacknowledged, before the link closes. At least 1 s.
  absl::Duration peer_timeout = absl::Seconds(10);
  // Established links that one listener accepts; more are refused. Then how
  // many of them may come from one address, where addresses tell hosts apart
  // (IPv6: the first 64 bits), and how many may be of one identity; 0:
  // max_accepted.
  int max_accepted = 64;
  int max_of_address = 0;
  int max_of_identity = 0;
  // Incoming links of one listener that are not established, and how many of
  // them from one address. An address at its limit is refused another. At the
  // limit of all, the longest waiting link of the address with the most gives
  // way. So a quick peer gets in, however many are slow.
  int max_half_open = 128;
  int max_half_open_of_address = 32;
  // Rate of new links to a listener in total, and from one address: each TLS
  // handshake takes about a millisecond of the transport's thread. The total
  // does not count addresses that have links or had one within ten minutes, so
  // strangers cannot keep a neighbour out.
  ComeRate come;
  ComeRate come_of_address;
  // Counts the incoming links of all listeners, established or not: each has at
  // least one descriptor. Null: no count.
  std::shared_ptr<std::atomic<int>> accepted;
  // Observes incoming links. Null: no observer.
  std::shared_ptr<ListenerEvents> events;
  // This side's position in a sequence that all sides go through, such as the
  // number of a view. Called on any thread; never goes back. A listener refuses
  // a connector with an older era. Empty: always zero.
  std::function<uint64_t()> era;
  // This side's certificate, and the peers that it accepts. A link ends when
  // its peer's certificate is not accepted any more. With certificates there is
  // no link in the clear, and a peer that wants one is refused: tcp is TLS 1.3;
  // shm admits peers that show a pass (transport/passes.h); verbs relies on its
  // rendezvous. Null: all links are in the clear.
  std::shared_ptr<security::Certificates> certificates;
  // With certificates: which authenticated peers a listener admits. Called on
  // the transport's thread, before the acceptor, and before the peer has a key
  // to this side's memory. An error (kPermissionDenied) refuses the peer and is
  // logged. Empty: all of them.
  std::function<absl::Status(const std::string& identity)> admit;
  // The thread of the links (transport/loop/event_loop.h), which may have other
  // users; it is stopped after the transport is destroyed. Null: the transport
  // starts its own. Some kinds ignore it.
  std::shared_ptr<EventLoop> loop;
};

// Makes links of one kind, on one thread. Thread-safe. The destructor closes
// all links (OnClosed on that thread); it must not run on that thread.
class Transport {
 public:
  virtual ~Transport() = default;

  // kAlreadyExists: another listener has the address. kInvalidArgument: no such
  // address. The listener may outlive the transport; it is then silent.
  virtual absl::StatusOr<std::unique_ptr<Listener>> Listen(
      const std::string& address, AcceptCallback acceptor) = 0;

  // Starts connecting and returns at once; another thread looks host names up.
  // Either OnConnected or OnClosed follows. On error the handler is never
  // called: kInvalidArgument: not an address. kUnavailable: this transport is
  // being destroyed. kResourceExhausted: no memory for a ring.
  virtual absl::StatusOr<std::shared_ptr<Link>> Connect(
      const std::string& address, std::shared_ptr<LinkHandler> handler) = 0;

  // Announces a later Connect to `address`, possibly when name servers do not
  // answer. A transport that resolves names resolves this one now, and keeps
  // the result. Returns at once.
  virtual void Expect(const std::string& address) { (void)address; }
};

// Makes transports of one kind. A value; copies are alike.
class TransportFactory {
 public:
  using Maker = std::function<absl::StatusOr<std::unique_ptr<Transport>>(
      const TransportOptions&)>;

  // `make` is called with options that do not contradict each other.
  TransportFactory(const Capabilities& capabilities, Maker make)
      : capabilities_(capabilities), make_(std::move(make)) {}

  const Capabilities& capabilities() const { return capabilities_; }

  // kInvalidArgument: options that contradict each other, or the kind.
  absl::StatusOr<std::unique_ptr<Transport>> Make(
      const TransportOptions& options) const;

 private:
  Capabilities capabilities_;
  Maker make_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_LINK_H_
