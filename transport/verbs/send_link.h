// A link over one RDMA queue pair whose ends only send to each other: neither
// has a key to the other's memory. The peer's bytes land in buffers that all
// links share, a window of it at a time, and are assembled to messages.
// docs/formats/link.md, "Verbs, without rings".
#ifndef KAMINO_TRANSPORT_VERBS_SEND_LINK_H_
#define KAMINO_TRANSPORT_VERBS_SEND_LINK_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "transport/loop/loop_link.h"
#include "transport/verbs/rendezvous.h"
#include "transport/verbs/send_context.h"
#include "transport/verbs/send_hub.h"
#include "transport/verbs/send_wire.h"

namespace kamino::transport {

inline constexpr Capabilities kSendCapabilities = {.name = "verbs",
                                                   .needs_rendezvous = true};

class SendLink final : public LoopLink, private SendUser {
 public:
  using Token = decltype(VerbsEndpoint::token);

  SendLink(std::shared_ptr<SendContext> context, std::string peer);

  // The loop's thread only; exactly one of them, once.
  void StartConnecting(const std::string& address,
                       std::shared_ptr<LinkHandler> handler);
  void StartAccepting(const VerbsEndpoint& offer,
                      std::shared_ptr<AcceptGate> gate,
                      const VerbsRendezvous::Reply& reply);

  absl::Status Send(absl::Span<const std::byte> header,
                    absl::Span<const std::byte> payload) override;
  Held held() const override;

 private:
  void Detach() override;
  void ReleaseLocked() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::shared_ptr<void> Keep() override { return shared_from_this(); }
  void OnReceived(absl::Span<const std::byte> bytes) override;
  void OnSent(uint64_t id) override;
  void OnPairFailed(const char* why) override;
  void OnBatchEnd() override;
  void OnTooMuchUnfinished() override;

  absl::Status MakeWire();
  VerbsEndpoint Endpoint() const;
  void OnAnswer(const absl::StatusOr<VerbsEndpoint>& answer);
  // Connects the wire to `peer` and starts listening to it.
  absl::Status ConnectTo(const VerbsEndpoint& peer);
  void StartProbing();
  absl::Status Probe();

  // Each of these may close the link.
  absl::Status TakeHead(const SendHead& head);
  void TakeHello(absl::Span<const std::byte> payload);
  void TakePiece(const SendHead& head, absl::Span<const std::byte> payload);
  void TakeUnfinished(absl::Span<const std::byte> payload);
  // The peer broke the protocol: closes without a bye.
  void CutOff(absl::string_view why);

  // Sends waiting messages as far as the peer's window and the queue allow.
  absl::Status PushLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status NotifyLocked(SendKind kind, absl::Span<const std::byte> payload)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status SayTakenLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasCreditLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return wire_->CanSend() && sent_ - covered_ < wire_->window();
  }

  const std::shared_ptr<SendContext> sends_;

  // The loop's thread writes them under mu_, and may read them without. mu_
  // guards the wire's sends.
  SendHub* hub_ = nullptr;
  std::unique_ptr<SendWire> wire_;

  // Accepted messages that wait, and how much of the first one was sent.
  std::deque<std::string> waiting_ ABSL_GUARDED_BY(mu_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  size_t offset_ ABSL_GUARDED_BY(mu_) = 0;
  bool refused_ ABSL_GUARDED_BY(mu_) = false;  // a Send, since OnWritable
  // Firsts, mores and probes: sent; taken by the peer; received and reportable;
  // reported to the peer.
  uint64_t sent_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t covered_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t taken_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t told_ ABSL_GUARDED_BY(mu_) = 0;
  // sent_ at the newest probe.
  uint64_t probe_ ABSL_GUARDED_BY(mu_) = 0;
  bool owes_taken_ ABSL_GUARDED_BY(mu_) = false;  // the peer has probed

  // The loop's thread only.
  bool connected_ = false;  // the pair is, or was
  bool cut_off_ = false;    // or failed, or left: no bye is sent
  bool greeted_ = false;
  bool counted_ = false;     // as a setup
  Token token_ = {};         // of the acceptor's answer
  size_t largest_ = 0;       // message, once connected
  uint64_t received_ = 0;    // as taken_, and those of this batch
  uint64_t unfinished_ = 0;  // the hub's number of the unfinished message; or 0
  size_t length_ = 0;        // its whole length
  std::string message_;      // its bytes so far
  uint64_t seen_covered_ = 0;
  int quiet_ = 0;  // probe periods without a message from the peer
  EventLoop::Id probe_timer_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_SEND_LINK_H_
