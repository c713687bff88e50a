// Common base of links over stream sockets: connecting and the preface. The
// subclass implements the data path, and authentication if there are
// certificates.
#ifndef KAMINO_TRANSPORT_SOCKET_SOCKET_LINK_H_
#define KAMINO_TRANSPORT_SOCKET_SOCKET_LINK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transport/link.h"
#include "transport/loop/event_loop.h"
#include "transport/loop/loop_link.h"
#include "transport/loop/unique_fd.h"
#include "transport/socket/dialer.h"
#include "transport/socket/incoming_preface.h"
#include "transport/socket/preface.h"

namespace kamino::transport {

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
  // Authenticates the peer, after the connector's socket is connected. Called
  // with each event before the preface until it returns true. False: it waits
  // for more, or has ended the link.
  virtual bool Secure() { return true; }
  // Receives at most as many bytes as `to` has room for; 0: none are there now.
  // kUnavailable: the peer ended the stream, or the socket is broken. A
  // descriptor that comes along is stored in `fd`, unless `fd` has one.
  virtual absl::StatusOr<size_t> Receive(absl::Span<std::byte> to,
                                         UniqueFd* fd);
  // Sends all bytes, or returns an error: a fresh socket has room for a
  // preface. `fd`: -1, or a descriptor to pass along.
  virtual absl::Status SendAll(absl::Span<const std::byte> bytes, int fd);

  // This side's part of the preface; `extra` follows it, ExtraBytes long, and
  // `fd` (or -1) is passed along. Called once; for the acceptor after
  // OnPreface.
  struct Offer {
    uint64_t ring_bytes = 0;
    int fd = -1;
    std::string extra;
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

 private:
  enum class Phase { kConnecting, kSecuring, kPreface, kOpen };

  void Detach() final;
  void ReleaseLocked() final ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void TryNextCandidate();
  absl::Status UseSocket(UniqueFd socket);
  void DropSocket();
  void OnEvents(uint32_t events);
  void OnConnectDone();
  void ContinueSecuring();
  bool SendPreface(const Offer& offer);
  void ReadPreface();
  void OnNoPreface(const absl::Status& why);
  void OnPrefaceComplete();

  const SocketKind kind_;

  // Guarded by mu_; changed by the loop's thread only, which therefore reads it
  // without.
  UniqueFd socket_;

  // The loop's thread only.
  Phase phase_ = Phase::kConnecting;
  std::optional<Dialer> dialer_;  // the connector's
  EventLoop::Id watch_ = 0;
  uint32_t hung_up_ = 0;  // such events so far
  std::optional<IncomingPreface> incoming_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_SOCKET_LINK_H_
