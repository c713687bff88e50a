#include "transport/ring/ring_sender.h"

namespace kamino::transport {

RingSender::RingSender(size_t capacity, RingMover* mover)
    : mover_(mover), writer_(capacity) {}

absl::Status RingSender::TakeAcknowledgement() {
  return writer_.Ack(mover_->Acknowledged());
}

absl::Status RingSender::Send(absl::Span<const std::byte> first,
                              absl::Span<const std::byte> second) {
  const size_t length = first.size() + second.size();
  if (!writer_.Fits(length)) {
    absl::Status taken = TakeAcknowledgement();
    if (!taken.ok()) return taken;
    if (!writer_.Fits(length)) {
      // Requested before the last look, so that any later acknowledgement is
      // reported.
      const bool owed = blocked_.exchange(true, std::memory_order_relaxed);
      taken = mover_->RequestCredits();
      if (taken.ok()) taken = TakeAcknowledgement();
      if (!taken.ok()) return taken;
      if (!writer_.Fits(length)) {
        return absl::ResourceExhaustedError("out of credits");
      }
      blocked_.store(owed, std::memory_order_relaxed);
    }
  }
  return mover_->Move(*writer_.Reserve(length), first, second);
}

// Waits for half the credits: otherwise a blocked sender would wake for each
// message.
bool RingSender::HalfFree() const {
  return writer_.unacked() <= writer_.capacity() / 2;
}

absl::StatusOr<bool> RingSender::CheckCredits() {
  if (!blocked()) return false;
  absl::Status taken = TakeAcknowledgement();
  if (!taken.ok()) return taken;
  if (!HalfFree()) {
    // The call may have used the last request up.
    taken = mover_->RequestCredits();
    if (taken.ok()) taken = TakeAcknowledgement();
    if (!taken.ok()) return taken;
    if (!HalfFree()) return false;
  }
  blocked_.store(false, std::memory_order_relaxed);
  return true;
}

}  // namespace kamino::transport
