// Common base of links over stream sockets: connecting and the preface. The
// subclass implements the data path, and authentication if there are
// certificates.
#ifndef KAMINO_TRANSPORT_SOCKET_SOCKET_LINK_H_
#define KAMINO_TRANSPORT_SOCKET_SOCKET_LINK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transport/link.h"
#include "transport/loop/event_loop.h"
#include "transport/loop/loop_link.h"
#include "transport/loop/unique_fd.h"
#include "transport/socket/preface.h"
#include "transport/socket/resolver.h"
#include "transport/socket/socket_address.h"

namespace kamino::transport {

// Where a link connects to.
struct SocketTarget {
  // Tried in this order. Empty if `host` must be looked up.
  std::vector<SocketAddress> addresses;
  std::string host;  // a name; "": no lookup
  uint16_t port = 0;
  std::shared_ptr<Resolver> resolver;
  // When the lookup of `host` is late or fails, the link connects to the
  // addresses of the last good one. Its user must then check the peer's
  // identity.
  bool last_good = false;
};

class SocketLink : public LoopLink {
 public:
  SocketLink(std::shared_ptr<LinkContext> context, SocketKind kind,
             const Capabilities& capabilities, std::string peer);

  // The loop's thread only; exactly one of them, once.
  void StartConnecting(SocketTarget target,
                       std::shared_ptr<LinkHandler> handler);
  // `host` tells hosts apart; "": it is not known.
  void StartAccepting(UniqueFd socket, std::shared_ptr<AcceptGate> gate,
                      const std::string& host);

 protected:
  // Hooks; the loop's thread, mu_ not held.

  // For the connector, before there is a socket: calls ReadyToConnect once, now
  // or later, with an error if there is one.
  virtual void Prepare() { ReadyToConnect(absl::OkStatus()); }
  // The connector's socket is connected: whether the link may send on it.
  virtual absl::Status CheckSocket() { return absl::OkStatus(); }
  // Authenticates the peer. Called with each event before the preface until it
  // returns true.
  virtual absl::StatusOr<bool> Secure() { return true; }
  // Secure has failed: ends the link.
  virtual void EndInsecurely(const absl::Status& why) { Fail(why); }
  // Receives at most as many bytes as `to` has room for; 0: none are there now.
  // kUnavailable: the peer ended the stream, or the socket is broken. A
  // descriptor that comes along is stored in `fd`, unless `fd` has one.
  virtual absl::StatusOr<size_t> Receive(absl::Span<std::byte> to,
                                         UniqueFd* fd);
  // Sends all bytes, or returns an error: a fresh socket has room for a
  // preface. `fd`: -1, or a descriptor to pass along.
  virtual absl::Status SendAll(absl::Span<const std::byte> bytes, int fd);
  // How many bytes follow the peer's preface, and which bytes follow this
  // side's. Called once; for the acceptor after OnPreface.
  virtual size_t ExtraExpected() const { return 0; }
  virtual std::string OwnExtra() { return ""; }

  // The connector's own part of the preface; `fd` (or -1) is passed along.
  struct Offer {
    uint64_t ring_bytes = 0;
    int fd = -1;
  };
  virtual Offer MakeOffer() { return {}; }
  // The peer's preface is valid; `extra`: the bytes that followed it. Prepares
  // the data path and returns the link's max_message, or why there can be no
  // link.
  virtual absl::StatusOr<size_t> OnPreface(const Preface& preface,
                                           absl::string_view extra,
                                           UniqueFd fd) = 0;
  // epoll events of the open link's socket, edge-triggered.
  virtual void OnSocketEvents(uint32_t events) = 0;
  // The loop's thread, mu_ held. Frees what Send uses, except the socket.
  virtual void ReleaseDataLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;

  // The loop's thread, or with mu_ held: only the loop's thread changes it.
  int socket() const { return socket_.get(); }

  void ReadyToConnect(const absl::Status& status);
  // Tells a connector that it is authenticated but refused.
  void SayRefused();
  // A link that this side connects failed for a reason that the operator should
  // know: logs one line, unless there were too many lately.
  void TellFailure(const absl::Status& why);

 private:
  enum class Phase { kConnecting, kSecuring, kPreface, kOpen };

  void Detach() final;
  void ReleaseLocked() final ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void LookUp();
  void OnFound(const absl::StatusOr<Resolver::Addresses>& found);
  void OnLate();
  // False when there is no such address.
  bool GoToLastGood(absl::string_view why);
  void AddCandidates(const Resolver::Addresses& addresses);
  void FoundSome();
  void TryNextCandidate();
  bool TryCandidate(const SocketAddress& address);
  void SetSocket(UniqueFd socket);
  absl::Status WatchSocket();
  void DropSocket();
  void OnEvents(uint32_t events);
  void OnConnectDone();
  void GoOnSecuring();
  bool SendPreface(const Offer& offer);
  void ReadPreface();
  void OnBadPreface(const absl::Status& why);
  void OnPrefaceComplete();

  const SocketKind kind_;

  // Guarded by mu_; changed by the loop's thread only, which therefore reads it
  // without.
  UniqueFd socket_;

  // The loop's thread only.
  Phase phase_ = Phase::kConnecting;
  SocketTarget target_;
  bool finding_ = false;  // it has no address to try yet
  EventLoop::Id late_ = 0;
  std::vector<SocketAddress> candidates_;
  size_t next_candidate_ = 0;
  std::string connect_error_;
  EventLoop::Id watch_ = 0;
  uint32_t hung_up_ = 0;  // such events so far
  Preface received_ = {};
  size_t received_bytes_ = 0;  // including the extra bytes
  std::string received_extra_;
  UniqueFd received_fd_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_SOCKET_LINK_H_
