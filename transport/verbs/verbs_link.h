// A link over one RDMA queue pair: WRITE_WITH_IMM moves records straight into
// the peer's ring, and immediate data carries everything else that the peer
// must know. docs/formats/link.md, "Verbs".
#ifndef KAMINO_TRANSPORT_VERBS_VERBS_LINK_H_
#define KAMINO_TRANSPORT_VERBS_VERBS_LINK_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "transport/loop/loop_link.h"
#include "transport/ring/ring_link.h"
#include "transport/verbs/incoming_records.h"
#include "transport/verbs/owed_notices.h"
#include "transport/verbs/probe_timer.h"
#include "transport/verbs/rendezvous.h"
#include "transport/verbs/verbs_context.h"
#include "transport/verbs/verbs_wire.h"

namespace kamino::transport {

inline constexpr Capabilities kVerbsCapabilities = {
    .name = "verbs", .needs_rendezvous = true, .one_sided = true};

class VerbsLink final : public RingLink<LoopLink> {
 public:
  // `wire` is not connected yet.
  VerbsLink(std::shared_ptr<VerbsContext> context, std::string peer,
            std::unique_ptr<VerbsWire> wire);

  // The loop's thread only; exactly one of them, once.
  void StartConnecting(const std::string& address,
                       std::shared_ptr<LinkHandler> handler);
  void StartAccepting(const VerbsEndpoint& offer,
                      std::shared_ptr<AcceptGate> gate,
                      const VerbsRendezvous::Reply& reply);

 private:
  void Detach() override;
  void ReleaseLocked() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  bool Poll() override;
  bool Arm() override;
  void Disarm() override {}

  absl::Status Move(uint64_t position, absl::Span<const std::byte> first,
                    absl::Span<const std::byte> second) override;
  uint64_t Acknowledged() override;
  absl::Status RequestCredits() override;
  uint64_t Published() override { return incoming_.published(); }
  void Acknowledge(uint64_t head, bool may_wake) override;

  void OnAnswer(const absl::StatusOr<VerbsEndpoint>& answer);
  VerbsEndpoint Endpoint() const;
  // Connects the wire to `peer` and starts listening to it.
  absl::Status ConnectTo(const VerbsEndpoint& peer);
  void StartProbing();

  // Handles completions. False when the link is closing or closed.
  bool Progress();
  absl::StatusOr<size_t> TakeCompletions();
  void OnNoticeLocked(uint32_t immediate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Sends waiting records and notices, as far as there is room.
  absl::Status SendOwedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<VerbsContext> verbs_;
  // The loop's thread writes it under mu_, and may read it without. mu_ guards
  // its send queue.
  std::unique_ptr<VerbsWire> wire_;

  uint64_t acknowledged_ ABSL_GUARDED_BY(mu_) = 0;  // by the peer
  OwedNotices owed_ ABSL_GUARDED_BY(mu_);

  // The loop's thread only.
  std::array<Completion, 64> completions_;
  size_t completion_count_ = 0;  // picked up by Arm, not handled yet
  bool failed_ = false;          // the pair is in error
  bool connected_ = false;       // the pair is, or was
  bool greeted_ = false;         // the connector's hello came
  size_t largest_ = 0;           // message, once connected
  IncomingRecords incoming_;
  EventLoop::Id watch_ = 0;
  ProbeTimer probe_timer_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_VERBS_LINK_H_
