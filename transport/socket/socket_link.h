// What links over stream sockets have in common: connecting and the preface.
// The data path is the subclass's.
#ifndef KAMINO_TRANSPORT_SOCKET_SOCKET_LINK_H_
#define KAMINO_TRANSPORT_SOCKET_SOCKET_LINK_H_

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "transport/link.h"
#include "transport/loop/event_loop.h"
#include "transport/loop/loop_link.h"
#include "transport/loop/unique_fd.h"
#include "transport/socket/preface.h"

namespace kamino::transport {

struct SocketAddress {
  sockaddr_storage storage;
  socklen_t length;
};

class SocketLink : public LoopLink {
 public:
  SocketLink(std::shared_ptr<LinkContext> context, SocketKind kind,
             const Capabilities& capabilities, std::string peer);

  // The loop's thread only; exactly one of them, once. Candidates are tried in
  // turn.
  void StartConnecting(std::vector<SocketAddress> candidates,
                       std::shared_ptr<LinkHandler> handler);
  void StartAccepting(UniqueFd socket, std::shared_ptr<AcceptGate> gate);

 protected:
  // Hooks; the loop's thread, mu_ not held.

  // The connector's own part of the preface; `fd` (or -1) is passed along.
  struct Offer {
    uint64_t ring_bytes = 0;
    int fd = -1;
  };
  virtual Offer MakeOffer() { return {}; }
  // The peer's preface is sound. Prepares the data path and returns the link's
  // max_message, or why the link cannot be.
  virtual absl::StatusOr<size_t> OnPreface(const Preface& preface,
                                           UniqueFd fd) = 0;
  // epoll events of the open link's socket, edge-triggered.
  virtual void OnSocketEvents(uint32_t events) = 0;
  // The loop's thread, mu_ held. Frees what Send uses but for the socket.
  virtual void ReleaseDataLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;

  // The loop's thread, or with mu_ held: only the loop's thread changes it.
  int socket() const { return socket_.get(); }

 private:
  enum class Phase { kConnecting, kPreface, kOpen };

  void Detach() final;
  void ReleaseLocked() final ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void TryNextCandidate();
  bool TryCandidate(const SocketAddress& address);
  void SetSocket(UniqueFd socket);
  absl::Status WatchSocket();
  void DropSocket();
  void OnEvents(uint32_t events);
  void OnConnectDone();
  bool SendPreface(const Offer& offer);
  void ReadPreface();
  // Returns like recvmsg; keeps the first descriptor that came along.
  ssize_t ReceivePrefaceBytes();
  void OnPrefaceComplete();

  const SocketKind kind_;

  // Guarded by mu_; changed by the loop's thread only, which therefore reads it
  // without.
  UniqueFd socket_;

  // The loop's thread only.
  Phase phase_ = Phase::kConnecting;
  std::vector<SocketAddress> candidates_;
  size_t next_candidate_ = 0;
  std::string connect_error_;
  EventLoop::Id watch_ = 0;
  Preface received_ = {};
  size_t received_bytes_ = 0;
  UniqueFd received_fd_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_SOCKET_LINK_H_
