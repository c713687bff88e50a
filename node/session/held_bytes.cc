#include "node/session/held_bytes.h"

#include <utility>

namespace kamino::node {

HeldBytes::HeldBytes(const SessionLimits* limits, SessionCarrier* carrier,
                     size_t* of_all, absl::Time now)
    : limits_(limits),
      carrier_(carrier),
      of_all_(of_all),
      frame_since_(now),
      moved_since_(now) {}

HeldBytes::~HeldBytes() { *of_all_ -= bytes(); }

void HeldBytes::NoteReceived(size_t bytes, absl::Time now) {
  moved_ += bytes;
  frame_had_ = 0;
  frame_since_ = now;
}

void HeldBytes::NoteSent(size_t bytes) {
  unsent_ += bytes;
  *of_all_ += bytes;
}

void HeldBytes::CountUnsent() {
  const size_t unsent = carrier_->unsent();
  if (unsent < unsent_) {
    took_some_ = true;
    moved_ += unsent_ - unsent;
  }
  *of_all_ += unsent;
  *of_all_ -= std::exchange(unsent_, unsent);
}

void HeldBytes::CountUnfinished() {
  const size_t unfinished = carrier_->unfinished();
  *of_all_ += unfinished;
  *of_all_ -= std::exchange(unfinished_, unfinished);
}

void HeldBytes::OnTick(absl::Time now) {
  CountUnsent();
  CountUnfinished();
  if (now - moved_since_ < absl::Seconds(1)) return;
  moved_before_ = std::exchange(moved_, 0);
  moved_since_ = now;
}

bool HeldBytes::Fits(size_t waiting) const {
  const size_t most = *of_all_ <= limits_->max_all_held_bytes
                          ? limits_->max_unsent_bytes
                          : limits_->max_unsent_bytes / 256;
  return unsent_ + waiting <= most;
}

bool HeldBytes::HasRoom(size_t waiting) {
  if (Fits(waiting)) return true;
  CountUnsent();  // some may have left since
  return Fits(waiting);
}

bool HeldBytes::FrameIsStuck(absl::Time now) {
  const bool comes = unfinished_ >= frame_had_ + limits_->least_of_frame;
  if (unfinished_ != 0 && !comes) {
    return now - frame_since_ >= limits_->max_silence;
  }
  moved_ += unfinished_ == 0 ? 0 : unfinished_ - frame_had_;
  frame_had_ = unfinished_;
  frame_since_ = now;
  return false;
}

bool HeldBytes::AnswersAreStuck() {
  return unsent_ > 0 && !std::exchange(took_some_, false);
}

double HeldBytes::seconds() const {
  // So that a new connection does not count as slow.
  constexpr double kLittle = 1 << 20;
  return static_cast<double>(bytes()) /
         (static_cast<double>(moved_ + moved_before_) + kLittle);
}

}  // namespace kamino::node
