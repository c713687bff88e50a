// The one interface every transport implements: links between processes that
// carry opaque messages. Nothing here knows what a message means.
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

// What a kind of transport can do, and one of its links. Users ask for these,
// never for a name.
struct Capabilities {
  // Of the kind, in addresses, statuses and log lines: "tcp". Never empty.
  absl::string_view name;
  // Bytes of header and payload together. Of a kind: what
  // TransportOptions::max_message may be at most. Of a link: before it is
  // established this side's own limit, afterwards the smaller of the two
  // sides'.
  size_t max_message = size_t{1} << 30;
  // Both ends must be of one host. Addresses do not tell; who connects knows.
  bool same_host_only = false;
  // Ends find each other over a channel of the user's, who gave it to the
  // factory: an address is where that channel reaches the peer, and what
  // listens says "" for its own.
  bool needs_rendezvous = false;
  // The peer writes into this side's memory without this side having a hand in
  // it. So whoever must be kept off is refused before there is a link, by
  // TransportOptions::era; over the others an answer can say why.
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

  // What it has in memory of its own, in bytes of messages. The transport's
  // thread only. None of a link whose messages lie in rings.
  struct Held {
    // Send accepted them, the peer's host did not yet; 0 once the mover has
    // taken all over.
    size_t unsent = 0;
    // Came, of a message that has not come whole.
    size_t unfinished = 0;
  };
  virtual Held held() const { return {}; }

  // For log lines and error texts only.
  virtual std::string peer() const = 0;

  // Who the peer has proved to be, as a URI (security/identity.h); known and
  // the same from OnPeerKnown or the acceptor on, also when it is closed. "":
  // nobody, as of all links that are made in the clear.
  virtual std::string peer_identity() const { return ""; }
};

// What a link's user implements. Called on the transport's thread only.
class LinkHandler {
 public:
  virtual ~LinkHandler() = default;

  // Connector's side only, once, before OnConnected, where the transport has
  // certificates: whether that is whom the link was to reach. An error closes
  // the link with it; nothing of the user's has been sent then.
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
  //   kUnauthenticated     the peer is not believed, or not any more, or does
  //                        not believe this side
  //   kPermissionDenied    it is not who may be at the other end
  virtual void OnClosed(const absl::Status& why) = 0;
};

// Stops accepting when destroyed; links accepted before live on. Once the
// destructor has returned the acceptor is not called any more.
class Listener {
 public:
  virtual ~Listener() = default;

  // Where it is bound, in the form Connect takes: a port 0 is resolved.
  virtual const std::string& address() const = 0;
};

// Called on the transport's thread for each established incoming link. Returns
// the link's handler, or nullptr to refuse it. Send already works.
using AcceptCallback =
    std::function<std::shared_ptr<LinkHandler>(std::shared_ptr<Link>)>;

// Why a listener took one who had come not, or not for long.
enum class LinkRefusal {
  kTooMany,            // of all links
  kTooManyOfAddress,   // or of those who have come from its address
  kTooManyOfIdentity,  // or of those who are who it is
  kHalfOpen,           // of those that are not established
  kTooOften,           // so many have come within a short time
  kTimeout,            // it was not established in time
  kPlaintext,          // it did not begin with TLS
  kHandshake,          // TLS failed but for its certificate
  kCertificate,        // it is not believed, or shows no pass that is good
  kNotAdmitted,        // it is not who may be at the other end
  kProtocol,           // it does not speak this protocol or version
  kOther,              // it left, or its era is over
};
inline constexpr int kLinkRefusals = 12;
// As a metric's label has it: "too_many".
absl::string_view LinkRefusalName(LinkRefusal refusal);

// Hears of those who come to listeners: for metrics. Called on the transport's
// thread.
class ListenerEvents {
 public:
  virtual ~ListenerEvents() = default;
  // So many more or fewer have come and are not established links.
  virtual void OnHalfOpen(int change) = 0;
  // A link is established, so long after its peer came.
  virtual void OnEstablished(absl::Duration took) = 0;
  virtual void OnRefused(LinkRefusal why) = 0;
};

// How many may come to a listener: a second on average, and at once after a
// while in which few have.
struct ComeRate {
  double per_second = 0;  // 0: there is no bound
  double burst = 0;       // at least 1, where there is
};

// What transports of every kind are told. What only one kind needs to know, its
// factory was made with.
struct TransportOptions {
  // Bytes of the largest message this side sends or accepts.
  size_t max_message = size_t{5} << 20;
  // tcp, verbs without rings: credits of a link, bytes accepted by Send and not
  // yet by the kernel, or the peer. At least max_message and 64 bytes.
  size_t send_buffer = size_t{16} << 20;
  // shm, verbs with rings: credits of a link, bytes of each direction's ring.
  // Rounded up to a power of two; at least max_message and 64 bytes.
  size_t ring_bytes = size_t{8} << 20;
  // shm, verbs: how long to poll for the next message before going to sleep,
  // for as long as that finds some now and then.
  absl::Duration spin = absl::Microseconds(20);
  // Limit for a link to be established, at both ends.
  absl::Duration connect_timeout = absl::Seconds(5);
  // tcp, verbs: how long a peer may be silent to keep-alives, or leave sent
  // bytes unacknowledged, before the link closes. At least 1 s.
  absl::Duration peer_timeout = absl::Seconds(10);
  // Established links one listener accepts; more are refused. And how many of
  // them may be of one address, where addresses tell hosts apart (IPv6: the
  // first 64 bits), and of one identity; 0: as many as there may be.
  int max_accepted = 64;
  int max_of_address = 0;
  int max_of_identity = 0;
  // Those that have come and are not established, at one listener, and of them
  // those of one address. An address that has too many is refused one more.
  // When all have too many, that one gives way which has waited longest of the
  // address that has most: whoever is quick is let in, however many are slow.
  int max_half_open = 128;
  int max_half_open_of_address = 32;
  // How often one may come to a listener at all, and from one address: each
  // handshake of TLS takes about a millisecond of the transport's thread. An
  // address that has links, or had some within ten minutes, is not in the
  // former, so that strangers, however many, keep no neighbour out.
  ComeRate come;
  ComeRate come_of_address;
  // Told how many there are, of all listeners, those that are not established
  // included: each has a descriptor at least. Null: nobody is.
  std::shared_ptr<std::atomic<int>> accepted;
  // Told what becomes of those who come. Null: nobody is.
  std::shared_ptr<ListenerEvents> events;
  // This side's place in a sequence that all sides go through, as the number of
  // a view; any thread, never goes back. A listener refuses a connector whose
  // era is before its own. Empty: zero for ever.
  std::function<uint64_t()> era;
  // What this side shows of itself, and whom it believes; every link is ended
  // when its peer is believed no more. No link is made in the clear then, and a
  // peer who would have it so is refused: tcp is TLS 1.3; shm takes who shows a
  // pass (transport/passes.h), verbs whom its rendezvous knows. Null: all is in
  // the clear.
  std::shared_ptr<security::Certificates> certificates;
  // With certificates: whom a listener takes, of those who are believed. Called
  // on the transport's thread, before the acceptor, and before the peer has a
  // key to this side's memory. An error (kPermissionDenied) refuses the peer,
  // and is told in the log. Empty: all of them.
  std::function<absl::Status(const std::string& identity)> admit;
  // Whose thread the links live on (transport/loop/event_loop.h), which others
  // may use as well; it is stopped once the transport is destroyed. Null: the
  // transport has one of its own. Not every kind has a use for it.
  std::shared_ptr<EventLoop> loop;
};

// Makes links of one kind, on one thread. Thread-safe. The destructor closes
// all links (OnClosed on that thread); it must not run on that thread.
class Transport {
 public:
  virtual ~Transport() = default;

  // kAlreadyExists: someone listens there. kInvalidArgument: no such address.
  // The listener may outlive the transport; it is then silent.
  virtual absl::StatusOr<std::unique_ptr<Listener>> Listen(
      const std::string& address, AcceptCallback acceptor) = 0;

  // Starts connecting and returns at once; a host name is looked up on another
  // thread. Either OnConnected follows or OnClosed. On error the handler is
  // never called: kInvalidArgument: that is no address. kUnavailable: this
  // transport is being destroyed. kResourceExhausted: no memory for a ring.
  virtual absl::StatusOr<std::shared_ptr<Link>> Connect(
      const std::string& address, std::shared_ptr<LinkHandler> handler) = 0;

  // Announces a later Connect to `address`, possibly at a time when name
  // servers do not answer. A transport that resolves names resolves this one
  // now, and keeps the result. Returns at once.
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
