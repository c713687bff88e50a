#include "transport/ring/ring_receiver.h"

#include "base/status_macros.h"

namespace kamino::transport {

RingReceiver::RingReceiver(absl::Span<const std::byte> ring, size_t max_message,
                           RingFeed* feed)
    : feed_(feed),
      eighth_(ring.size() / 8),
      half_(ring.size() / 2),
      reader_(ring, max_message) {}

void RingReceiver::Acknowledge() {
  acknowledged_ = reader_.head();
  // Wakes a peer only for at least half a ring; less is reported later, at the
  // latest when the ring is empty.
  feed_->Acknowledge(acknowledged_, half_empty());
}

absl::StatusOr<bool> RingReceiver::Poll(
    int limit, absl::FunctionRef<bool(absl::Span<const std::byte>)> deliver) {
  RETURN_IF_ERROR(reader_.Advance(feed_->Published()));
  bool any = false;
  for (int i = 0; i < limit; ++i) {
    ASSIGN_OR_RETURN(auto message, reader_.Pop());
    if (!message.has_value()) break;
    any = true;
    if (reader_.head() - acknowledged_ > eighth_) Acknowledge();
    if (!deliver(*message)) return true;
  }
  if (reader_.head() != acknowledged_) Acknowledge();
  return any;
}

}  // namespace kamino::transport
