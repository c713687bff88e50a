// Watches the steps of a node's core: a step is the time between two reports of
// progress. It tells whether the core hangs, and how much of its time it spends
// in slow steps.
#ifndef KAMINO_MEMBERSHIP_AGENT_CORE_STEPS_H_
#define KAMINO_MEMBERSHIP_AGENT_CORE_STEPS_H_

#include <functional>

#include "absl/time/time.h"
#include "membership/agent/lateness.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic. `lease`: duration of the manager's last
// lease.
class CoreSteps {
 public:
  // `medium_time`: as AgentCore::Options.
  explicit CoreSteps(std::function<absl::Duration()> medium_time);

  void NoteProgress(absl::Duration lease, absl::Time now);
  // As AgentCore.
  bool Hang(absl::Duration lease, absl::Time now) const;
  absl::Duration Late(absl::Duration lease, absl::Time now) const;

 private:
  absl::Duration MediumTime() const;

  const std::function<absl::Duration()> medium_time_;
  absl::Time progress_ = absl::InfinitePast();  // last seen
  absl::Duration waited_;                       // for the medium, until then
  Lateness lateness_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGENT_CORE_STEPS_H_
