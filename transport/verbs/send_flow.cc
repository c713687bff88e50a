#include "transport/verbs/send_flow.h"

namespace kamino::transport {

int SendFlow::CountQuietPeriod(uint32_t window) {
  const bool waits = probing() || !HasCredit(window);
  quiet_ = waits && covered_ == seen_covered_ ? quiet_ + 1 : 0;
  seen_covered_ = covered_;
  return quiet_;
}

absl::Status SendFlow::OnHead(const SendHead& head) {
  if (head.taken < covered_ || head.taken > sent_) {
    return absl::DataLossError("it acknowledged messages that were not sent");
  }
  // Otherwise it could use up other links' receives.
  if (head.kind == SendKind::kCredit &&
      head.taken - covered_ < kTakenPerCredit &&
      (probe_ <= covered_ || head.taken < probe_)) {
    return absl::DataLossError("it acknowledges too often");
  }
  covered_ = head.taken;
  const bool counts = head.kind == SendKind::kFirst ||
                      head.kind == SendKind::kMore ||
                      head.kind == SendKind::kProbe;
  if (!counts) return absl::OkStatus();
  if (++received_ > told_ + kSendWindow) {
    return absl::DataLossError("it sent more than its credit");
  }
  if (head.kind == SendKind::kProbe) probed_ = received_;
  return absl::OkStatus();
}

}  // namespace kamino::transport
