#include "membership/agent/core_steps.h"

#include <algorithm>
#include <utility>

namespace kamino::membership {
namespace {

// Steps of the core that take this part of a lease are slow: far longer than
// any piece of work.
constexpr int kLongSteps = 4;
// An idle core ticks every 25 ms, which is not slow.
constexpr absl::Duration kLeastLongStep = absl::Milliseconds(50);
// Limit, in leases, of a step that waits for the medium.
constexpr int kLeasesInMedium = 2;

// Longer steps of the core count as slow.
absl::Duration LongStep(absl::Duration lease) {
  return std::max(lease / kLongSteps, kLeastLongStep);
}

}  // namespace

CoreSteps::CoreSteps(std::function<absl::Duration()> medium_time)
    : medium_time_(std::move(medium_time)) {}

bool CoreSteps::Hang(absl::Duration lease, absl::Time now) const {
  const absl::Duration step = now - progress_;
  if (step <= lease) return false;
  return step - (MediumTime() - waited_) > lease ||
         step > lease * kLeasesInMedium;
}

absl::Duration CoreSteps::MediumTime() const {
  return medium_time_ == nullptr ? absl::ZeroDuration() : medium_time_();
}

void CoreSteps::NoteProgress(absl::Duration lease, absl::Time now) {
  if (now <= progress_) return;
  if (progress_ != absl::InfinitePast()) {
    lateness_.Add(now - progress_, LongStep(lease));
  }
  progress_ = now;
  waited_ = MediumTime();
}

absl::Duration CoreSteps::Late(absl::Duration lease, absl::Time now) const {
  Lateness lateness = lateness_;
  const absl::Duration step = now - progress_;  // it may still last
  if (progress_ < now && progress_ != absl::InfinitePast() &&
      step > LongStep(lease)) {
    lateness.Add(step, LongStep(lease));
  }
  return lateness.of_a_second();
}

}  // namespace kamino::membership
