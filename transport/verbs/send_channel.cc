#include "transport/verbs/send_channel.h"

#include <utility>

#include "base/status_macros.h"

namespace kamino::transport {

SendChannel::SendChannel(std::unique_ptr<SendWire> wire, size_t max_waiting)
    : max_waiting_(max_waiting), wire_(std::move(wire)) {}

std::unique_ptr<SendWire> SendChannel::TakeWire() { return std::move(wire_); }

bool SendChannel::TakeWritable() {
  if (!refused_ || waiting_.cost() > max_waiting_ / 2) return false;
  refused_ = false;
  return true;
}

absl::Status SendChannel::Send(absl::Span<const std::byte> header,
                               absl::Span<const std::byte> payload) {
  waiting_.Add(header, payload);
  return Push();
}

// Sends waiting messages as far as the peer's window and the queue allow.
absl::Status SendChannel::Push() {
  while (!waiting_.empty() && HasCredit()) {
    const WaitingMessages::Piece piece = waiting_.NextPiece();
    const SendHead head = {
        piece.first ? SendKind::kFirst : SendKind::kMore,
        {},
        piece.first ? static_cast<uint32_t>(piece.message) : 0,
        flow_.taken()};
    // A refused sender waits for the completion.
    RETURN_IF_ERROR(wire_->Send(head, piece.bytes, /*signaled=*/refused_));
    flow_.CountSent();
    flow_.CountReport();
    waiting_.PopPiece();
  }
  return absl::OkStatus();
}

absl::Status SendChannel::Notify(SendKind kind,
                                 absl::Span<const std::byte> payload) {
  flow_.CountReport();
  return wire_->Send({kind, {}, 0, flow_.taken()}, payload, /*signaled=*/false);
}

absl::Status SendChannel::SendHello(absl::Span<const std::byte> token) {
  return Notify(SendKind::kHello, token);
}

absl::Status SendChannel::Probe() {
  if (flow_.probing() || !HasCredit()) return absl::OkStatus();
  flow_.CountProbe();
  return Notify(SendKind::kProbe, {});
}

absl::Status SendChannel::OnBuffersPosted() {
  flow_.OnBuffersPosted();
  RETURN_IF_ERROR(Push());
  // A piece may have reported everything already.
  if (!flow_.CreditDue() || !wire_->CanNotify()) return absl::OkStatus();
  return Notify(SendKind::kCredit, {});
}

}  // namespace kamino::transport
