// Common base of links that live on an event loop: the connect timeout, the
// hand-over to the user, and closing exactly once. The subclass sets the link
// up and moves the bytes.
//
// Life of a link: new -> starting -> open -> closed. Only the loop's thread
// moves it on, except that any thread may mark it as closing; the loop's thread
// then finishes the close.
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

// Accepts links. Its transport keeps it alive until it is closed.
class LoopPort {
 public:
  virtual ~LoopPort() = default;
  // The loop's thread only. Stops accepting and drops links that are not
  // established. Idempotent.
  virtual void Close() = 0;
  // Any thread.
  virtual const std::string& address() const = 0;
};

// State that a transport's links and ports share; lives as long as any of them.
struct LinkContext {
  LinkContext(const TransportOptions& options, std::shared_ptr<EventLoop> loop)
      : options(options), loop(std::move(loop)) {}

  // options.loop, or a new loop of the transport's own, which spins for so
  // long.
  static absl::StatusOr<std::shared_ptr<EventLoop>> LoopFor(
      const TransportOptions& options, absl::Duration spin);

  // Closes all ports and links. Any thread but the loop's; the first step of a
  // transport's destructor, whose last is EndLoop().
  static void CloseAll(const std::shared_ptr<LinkContext>& context);
  // After that, no callback of a link or port runs any more.
  void EndLoop();

  // This side's current era.
  uint64_t era() const { return options.era ? options.era() : 0; }
  // For the accepting side. kUnavailable: the connector's `era` is over.
  absl::Status CheckEra(uint64_t era) const;

  // Log one line, unless there were too many lately: a link that this side
  // connects failed for a reason that the operator should know, and this side
  // does not believe the peer of a link any more.
  void TellFailure(absl::string_view peer, const absl::Status& why);
  void TellEnd(absl::string_view peer, const absl::Status& why);

  const TransportOptions options;
  const std::shared_ptr<EventLoop> loop;

  // Set once, when the transport's destructor begins.
  std::atomic<bool> stopping{false};

  // The loop's thread only. What keeps live links and ports alive.
  absl::flat_hash_set<std::shared_ptr<LoopLink>> links;
  absl::flat_hash_set<std::shared_ptr<LoopPort>> ports;

  // Limits log lines that peers can cause.
  LogLimit ends;
  LogLimit failures;
};

// Shuts `gate` and drops the links that wait at it. The loop's thread only.
void ShutGate(AcceptGate* gate);

// The Listener over a LoopPort.
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

  // The loop's thread only, never below a handler's callback. Closes with
  // `why` unless the link is closing already; OnClosed has run on return. For
  // an incoming link that is not established: `refusal` is what its listener
  // counts, if `why` does not tell; `told`: the log already has it.
  void Fail(const absl::Status& why,
            std::optional<LinkRefusal> refusal = std::nullopt,
            bool told = false);

 protected:
  // Hooks; the loop's thread, mu_ not held.

  // The handler exists; the data path may start.
  virtual void OnOpen() {}
  // The open link is about to close; stops what OnOpen started, if it ran.
  virtual void OnStopping() {}
  // The link closes, open or not: it must deliver no event after this.
  virtual void Detach() {}
  // The loop's thread, mu_ held. Frees what Send uses; Send will not come.
  virtual void ReleaseLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;

  // For subclasses, the loop's thread only.

  // Starts the time limit; exactly one of them, once. False when the link is
  // closed or closing.
  bool BeginConnecting(std::shared_ptr<LinkHandler> handler);
  // `host` tells hosts apart; "": it is not known.
  bool BeginAccepting(std::shared_ptr<AcceptGate> gate,
                      const std::string& host = "");
  // The peer has proved, here or over another channel, that it holds that
  // certificate: checks whether the link is allowed. From now on the link ends
  // with the certificate. With certificates: called once, before Open. Without
  // certificates it does nothing.
  absl::Status KnowPeer(const std::optional<security::Certificate>& peer);
  // The link is established: makes it known to its user. False when it is
  // closed or closing.
  bool Open(size_t max_message);
  bool connector() const { return gate_ == nullptr; }
  bool open() const { return state_ == State::kOpen; }
  // Open link.
  LinkHandler& handler() { return *handler_; }

  // Any thread.
  const TransportOptions& options() const { return context_->options; }
  LinkContext& context() const { return *context_; }
  EventLoop& loop() const { return *context_->loop; }
  // May turn true at any time; callbacks other than OnClosed end then.
  bool closing() const { return closing_.load(std::memory_order_acquire); }
  // Whether Send may send `length` bytes, credits aside.
  absl::Status CheckSendLocked(size_t length) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Marks as closing; the loop's thread does the rest.
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

  // Guarded by mu_; changed by the loop's thread only, which therefore reads
  // it without.
  State state_ = State::kNew;
  size_t max_message_ ABSL_GUARDED_BY(mu_);
  absl::Status why_ ABSL_GUARDED_BY(mu_);
  std::string identity_ ABSL_GUARDED_BY(mu_);  // set once, before it is open
  std::atomic<bool> closing_{false};

  // The loop's thread only.
  std::shared_ptr<LinkHandler> handler_;
  std::shared_ptr<AcceptGate> gate_;  // null: this side connects
  std::unique_ptr<security::PeerWatches::Watch> believed_;
  EventLoop::Id timer_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_LOOP_LOOP_LINK_H_
