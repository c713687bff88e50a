// The common base of links that run on an event loop. It enforces the connect
// timeout, gives the established link to its user, and closes it exactly once.
// The subclass sets the link up and moves the bytes.
//
// States of a link: new -> starting -> open -> closed. Only the loop's thread
// changes the state. Any thread may mark the link as closing; the loop's thread
// then closes it.
//
// Ownership: LinkContext::links holds a link from its start until it is closed,
// and the link holds its handler until OnClosed has returned. Links, ports and
// the transport share the LinkContext, which holds the loop.
#ifndef KAMINO_TRANSPORT_LOOP_LOOP_LINK_H_
#define KAMINO_TRANSPORT_LOOP_LOOP_LINK_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/log_limit.h"
#include "security/certificate.h"
#include "security/peer_watches.h"
#include "transport/link.h"
#include "transport/loop/accept_gate.h"
#include "transport/loop/event_loop.h"

namespace kamino::transport {

class LoopLink;

// Accepts links at one address. LinkContext::ports holds it until Close.
class LoopPort {
 public:
  virtual ~LoopPort() = default;
  // The loop's thread only. Stops accepting, and closes the incoming links that
  // are not established. Idempotent.
  virtual void Close() = 0;
  // Any thread.
  virtual const std::string& address() const = 0;
};

// The state that a transport shares with its links and ports.
struct LinkContext {
  LinkContext(const TransportOptions& options, std::shared_ptr<EventLoop> loop)
      : options(options), loop(std::move(loop)) {}

  // Returns options.loop. If that is null, starts a loop for this transport
  // alone; `spin` is as for EventLoop::Start.
  static absl::StatusOr<std::shared_ptr<EventLoop>> LoopFor(
      const TransportOptions& options, absl::Duration spin);

  // Starts to close all ports and links. The first step of a transport's
  // destructor. Any thread but the loop's.
  static void CloseAll(const std::shared_ptr<LinkContext>& context);
  // Waits until they are closed; no callback of a link or port runs after it.
  // Stops the loop, unless it is options.loop. The last step of a transport's
  // destructor. Any thread but the loop's.
  void EndLoop();

  // This side's current era.
  uint64_t era() const { return options.era ? options.era() : 0; }
  // Checks the connector's `era`, on the accepting side. kUnavailable: it is
  // older than this side's.
  absl::Status CheckEra(uint64_t era) const;

  // Logs that this side cannot connect to `peer`, for a reason that the
  // operator should know. Any thread. Drops the line if there were too many
  // lately.
  void TellFailure(absl::string_view peer, const absl::Status& why);
  // Likewise, that this side ends a link because it does not trust the
  // certificate of `peer` any more.
  void TellEnd(absl::string_view peer, const absl::Status& why);

  const TransportOptions options;
  const std::shared_ptr<EventLoop> loop;

  // CloseAll sets it, and nothing resets it. Any thread may read it.
  std::atomic<bool> stopping{false};

  // The loop's thread only. Links and ports that are started and not closed.
  absl::flat_hash_set<std::shared_ptr<LoopLink>> links;
  absl::flat_hash_set<std::shared_ptr<LoopPort>> ports;

  // Limits of log lines that peers can cause. Thread-safe.
  LogLimit ends;
  LogLimit failures;
};

// Closes `gate` to further links, and closes the links that are not
// established. The loop's thread only.
void ShutGate(AcceptGate* gate);

// The user's handle of a LoopPort: its destructor closes the port. Any thread
// may destroy it.
class LoopListener final : public Listener {
 public:
  LoopListener(std::shared_ptr<EventLoop> loop, std::shared_ptr<LoopPort> port)
      : loop_(std::move(loop)), port_(std::move(port)) {}
  ~LoopListener() override;
  const std::string& address() const override { return port_->address(); }

 private:
  const std::shared_ptr<EventLoop> loop_;
  const std::shared_ptr<LoopPort> port_;
};

class LoopLink : public Link, public std::enable_shared_from_this<LoopLink> {
 public:
  // `kind`: its name outlives every link.
  LoopLink(std::shared_ptr<LinkContext> context, const Capabilities& kind,
           std::string peer);

  void Close() final;
  std::string peer() const final { return peer_; }
  std::string peer_identity() const final;
  Capabilities capabilities() const final;

  // Closes the link, with `why` unless it is closing already; the handler's
  // OnClosed has run on return. The loop's thread only, and not from inside a
  // handler's callback. The listener counts an incoming link that is not
  // established as `refusal`, which is derived from `why` by default. `told`:
  // the log has that refusal already.
  void Fail(const absl::Status& why,
            std::optional<LinkRefusal> refusal = std::nullopt,
            bool told = false);

 protected:
  // Hooks. The base calls them on the loop's thread, without mu_ unless their
  // name ends in Locked.

  // The link has its handler; the data path may start.
  virtual void OnOpen() {}
  // The link was established and now closes. Stops what OnOpen started; OnOpen
  // may not have run.
  virtual void OnStopping() {}
  // The link closes, established or not. The subclass delivers no event after
  // this.
  virtual void Detach() {}
  // Frees the resources of Send, which refuses messages from now on.
  virtual void ReleaseLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;

  // For subclasses, on the loop's thread only.

  // Start the link and its connect timeout; the subclass calls one of them,
  // once. False: the link is closed or closing.
  bool BeginConnecting(std::shared_ptr<LinkHandler> handler);
  // `host` identifies the peer's host; "": it is unknown.
  bool BeginAccepting(std::shared_ptr<AcceptGate> gate,
                      const std::string& host = "");
  // The peer has proved, on this link or over another channel, that `peer` is
  // its certificate. Checks whether the link is allowed. From then on the link
  // closes when this side does not trust the certificate any more
  // (security/peer_watches.h). If options().certificates is set, the subclass
  // calls this once, before Open. Otherwise it does nothing.
  absl::Status KnowPeer(const std::optional<security::Certificate>& peer);
  // The link is established: passes it to the user, by OnConnected or the
  // acceptor. False: it is closed or closing.
  bool Open(size_t max_message);
  bool connector() const { return gate_ == nullptr; }
  bool open() const { return state_ == State::kOpen; }
  // While open() is true; in the acceptor's call there is none yet.
  LinkHandler& handler() { return *handler_; }

  // For subclasses, on any thread.

  const TransportOptions& options() const { return context_->options; }
  LinkContext& context() const { return *context_; }
  EventLoop& loop() const { return *context_->loop; }
  // Any thread may make it true at any time, and it stays true. The subclass
  // starts no callback but OnClosed after it has seen that.
  bool closing() const { return closing_.load(std::memory_order_acquire); }
  // Returns the error with which Send must refuse a message of `length` bytes,
  // if any. Credits are not checked.
  absl::Status CheckSendLocked(size_t length) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Marks the link as closing, and posts a task that closes it.
  void BeginCloseLocked(const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;

 private:
  enum class State { kNew, kStarting, kOpen, kClosed };

  bool Begin();
  bool HandOver();

  // Constant after construction.
  const std::shared_ptr<LinkContext> context_;
  const Capabilities kind_;
  const std::string peer_;

  // Only the loop's thread changes it, under mu_, and reads it without mu_.
  // Other threads read it under mu_.
  State state_ = State::kNew;
  size_t max_message_ ABSL_GUARDED_BY(mu_);
  absl::Status why_ ABSL_GUARDED_BY(mu_);
  std::string identity_ ABSL_GUARDED_BY(mu_);  // set once, before kOpen
  std::atomic<bool> closing_{false};           // set under mu_, read without it

  // The loop's thread only.
  std::shared_ptr<LinkHandler> handler_;
  std::shared_ptr<AcceptGate> gate_;  // null: this side connects
  std::unique_ptr<security::PeerWatches::Watch> believed_;
  EventLoop::Id timer_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_LOOP_LOOP_LINK_H_
