// What links over stream sockets have in common: connecting, the preface, the
// time limit, and closing exactly once. The data path is the subclass's.
//
// Life of a link: connecting (connector only) -> preface -> open -> closed.
// Only the loop's thread moves it on, except that any thread may mark it as
// closing; the loop's thread then finishes the close.
#ifndef KAMINO_TRANSPORT_SOCKET_SOCKET_LINK_H_
#define KAMINO_TRANSPORT_SOCKET_SOCKET_LINK_H_

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "transport/link.h"
#include "transport/loop/event_loop.h"
#include "transport/loop/unique_fd.h"
#include "transport/socket/preface.h"

namespace kamino::transport {

class SocketLink;
class ListenPort;

// What a transport's links and listeners share; lives as long as any of them.
struct SocketContext {
  SocketContext(const TransportOptions& options,
                std::shared_ptr<EventLoop> loop)
      : options(options), loop(std::move(loop)) {}

  const TransportOptions options;
  const std::shared_ptr<EventLoop> loop;

  // Set once, when the transport's destructor begins.
  std::atomic<bool> stopping{false};

  // The loop's thread only. What keeps live links and ports alive.
  absl::flat_hash_set<std::shared_ptr<SocketLink>> links;
  absl::flat_hash_set<std::shared_ptr<ListenPort>> ports;
};

// One listener's admission, shared with the links it accepted. The loop's
// thread only.
struct AcceptGate {
  Acceptor acceptor;
  std::string address;
  bool open = true;
  int live = 0;  // links accepted and not closed, prefaces under way included
};

struct SocketAddress {
  sockaddr_storage storage;
  socklen_t length;
};

class SocketLink : public Link,
                   public std::enable_shared_from_this<SocketLink> {
 public:
  SocketLink(std::shared_ptr<SocketContext> context, LinkKind kind,
             std::string peer);

  void Close() final;
  std::string peer() const final { return peer_; }
  LinkCapabilities capabilities() const final;

  // The loop's thread only; exactly one of them, once. Candidates are tried in
  // turn.
  void StartConnecting(std::vector<SocketAddress> candidates,
                       std::shared_ptr<LinkHandler> handler);
  void StartAccepting(UniqueFd socket, std::shared_ptr<AcceptGate> gate);

  // The loop's thread only, never below a handler's callback. Closes with
  // `why` unless the link is closing already; OnClosed has run on return.
  void Fail(const absl::Status& why);

  // The loop's thread only. Whether `gate` has still to decide on this link.
  bool Awaits(const AcceptGate* gate) const;

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
  // The handler is there; the data path may start.
  virtual void OnOpen() {}
  // epoll events of the open link's socket, edge-triggered.
  virtual void OnSocketEvents(uint32_t events) = 0;
  // The open link is about to close; stops what OnOpen started, if it ran.
  virtual void OnStopping() {}

  // The loop's thread, mu_ held. Frees what Send uses; Send will not come.
  virtual void ReleaseLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;

  // For subclasses.
  const TransportOptions& options() const { return context_->options; }
  EventLoop& loop() const { return *context_->loop; }
  LinkKind kind() const { return kind_; }
  // The loop's thread only, open link.
  LinkHandler& handler() { return *handler_; }
  // May turn true at any time; callbacks other than OnClosed end then.
  bool closing() const { return closing_.load(std::memory_order_acquire); }
  // Whether Send may send `length` bytes, credits aside.
  absl::Status CheckSendLocked(size_t length) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Any thread. Marks as closing; the loop's thread does the rest.
  void BeginCloseLocked(const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The loop's thread, or with mu_ held: only the loop's thread changes it.
  int socket() const { return socket_.get(); }

  mutable absl::Mutex mu_;

 private:
  enum class State { kNew, kConnecting, kPreface, kOpen, kClosed };

  bool Begin();
  void TryNextCandidate();
  bool TryCandidate(const SocketAddress& address);
  void SetSocket(UniqueFd socket);
  void SetState(State state);
  absl::Status WatchSocket();
  void DropSocket();
  void OnEvents(uint32_t events);
  void OnConnectDone();
  bool SendPreface(const Offer& offer);
  void ReadPreface();
  // Returns like recvmsg; keeps the first descriptor that came along.
  ssize_t ReceivePrefaceBytes();
  void OnPrefaceComplete();
  bool HandOver();
  void Finish();

  // Constant after construction.
  const std::shared_ptr<SocketContext> context_;
  const LinkKind kind_;
  const std::string peer_;

  // Guarded by mu_; socket_ and state_ are changed by the loop's thread only,
  // which therefore reads them without.
  UniqueFd socket_;
  State state_ = State::kNew;
  size_t max_message_ ABSL_GUARDED_BY(mu_);
  absl::Status why_ ABSL_GUARDED_BY(mu_);
  std::atomic<bool> closing_{false};

  // The loop's thread only.
  std::shared_ptr<LinkHandler> handler_;
  std::shared_ptr<AcceptGate> gate_;  // null: this side connects
  bool deciding_ = false;             // gate_->acceptor is being asked
  std::vector<SocketAddress> candidates_;
  size_t next_candidate_ = 0;
  std::string connect_error_;
  EventLoop::Id watch_ = 0;
  EventLoop::Id timer_ = 0;
  Preface received_ = {};
  size_t received_bytes_ = 0;
  UniqueFd received_fd_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_SOCKET_LINK_H_
