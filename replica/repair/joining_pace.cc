#include "replica/repair/joining_pace.h"

#include <algorithm>

namespace kamino::replica {

namespace {

// Between two acknowledged chunks; longer than over any usable link.
constexpr absl::Duration kLongPause = absl::Milliseconds(250);

}  // namespace

void JoiningPace::Begin(absl::Time now) {
  progressed_ = now;
  paused_ = absl::ZeroDuration();
  progress_ = 0;
}

void JoiningPace::OnTick(uint64_t progress, bool waits, absl::Time now) {
  const absl::Duration held_up = now - ticked_ - kLongTick;
  if (held_up > absl::ZeroDuration()) {
    progressed_ = std::min(now, progressed_ + held_up);
  }
  ticked_ = now;
  if (waits || progress != progress_) NoteProgress(now);
  progress_ = progress;
}

bool JoiningPace::Stutters(absl::Time now) const {
  return paused_ + Pause(now) >= patience_;
}

absl::Duration JoiningPace::Pause(absl::Time now) const {
  // This node itself may have been held up, with unread messages.
  return std::min(now, ticked_ + kLongTick) - progressed_;
}

void JoiningPace::NoteProgress(absl::Time now) {
  const absl::Duration pause = now - progressed_;
  // Bounded, because otherwise a node that stopped for long would have to make
  // up for it.
  paused_ = pause >= kLongPause
                ? std::min(paused_ + pause, 2 * patience_)
                : std::max(absl::ZeroDuration(), paused_ - pause);
  progressed_ = now;
}

}  // namespace kamino::replica
