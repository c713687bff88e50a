// A link over one RDMA queue pair whose ends only send to each other: neither
// has a key to the other's memory. The peer's bytes land in buffers that all
// links share, a window of it at a time, and are assembled to messages.
// docs/formats/link.md, "Verbs, without rings".
//
// The link sets itself up and ends itself; its SendChannel sends, its
// MessageAssembler receives, and the SendHub brings the completions. Owns the
// wire until it closes, and then gives it back to the hub.
#ifndef KAMINO_TRANSPORT_VERBS_SEND_LINK_H_
#define KAMINO_TRANSPORT_VERBS_SEND_LINK_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "transport/loop/loop_link.h"
#include "transport/verbs/message_assembler.h"
#include "transport/verbs/probe_timer.h"
#include "transport/verbs/rendezvous.h"
#include "transport/verbs/send_channel.h"
#include "transport/verbs/send_context.h"
#include "transport/verbs/send_format.h"
#include "transport/verbs/send_hub.h"
#include "transport/verbs/send_user.h"

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
  void TakeHello(absl::Span<const std::byte> payload);
  void TakePiece(const SendHead& head, absl::Span<const std::byte> payload);
  // The peer broke the protocol: closes without a bye.
  void CutOff(absl::string_view why);

  const std::shared_ptr<SendContext> sends_;

  // Set from MakeWire to ReleaseLocked. The loop's thread sets them under mu_,
  // and may read them without. mu_ guards the channel, except its wire().
  SendHub* hub_ = nullptr;
  std::optional<SendChannel> channel_;

  // The loop's thread only.
  std::optional<MessageAssembler> assembler_;  // from MakeWire on
  bool connected_ = false;                     // the pair is, or was
  bool cut_off_ = false;  // or failed, or left: no bye is sent
  bool counted_ = false;  // as a setup
  Token token_ = {};      // of the acceptor's answer
  size_t largest_ = 0;    // message, once connected
  ProbeTimer probe_timer_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_SEND_LINK_H_
