#include "node/driver/planned_stop.h"

#include <utility>

namespace kamino::node {

bool PlannedStop::IsMember() const {
  return context_.chain->core().place().role() != membership::Role::kOutside;
}

void PlannedStop::HandOver(std::function<void(bool)> done) {
  context_.core->Post([this, done = std::move(done)] {
    on_handed_over_ = done;
    departure_.Begin(IsMember(), context_.Now());
    if (!departure_.over()) context_.views->AskToLeave();
    Continue();
  });
}

void PlannedStop::Continue() {
  if (departure_.holds()) context_.chain->head().Hold();
  if (!departure_.over() || on_handed_over_ == nullptr) return;
  std::exchange(on_handed_over_, nullptr)(departure_.has_left());
}

void PlannedStop::Retire(std::function<void()> done) {
  context_.core->Post([this, done = std::move(done)] {
    context_.chain->head().Retire();
    on_retired_ = done;
  });
}

void PlannedStop::OnTick(absl::Time now) {
  if (departure_.OnTick(now)) context_.views->Surrender();
  Continue();
}

void PlannedStop::OnView() {
  departure_.OnView(IsMember());
  Continue();
}

void PlannedStop::OnStopPermission(membership::StopPermission permission,
                                   absl::Time now) {
  departure_.OnStopPermission(permission, now);
  Continue();
}

void PlannedStop::EndOfBatch(absl::Time now) {
  if (departure_.state() == Departure::State::kDraining &&
      context_.chain->head().drained() && departure_.OnDrained(now)) {
    context_.views->Surrender();
  }
  if (on_retired_ != nullptr && context_.chain->head().retired()) {
    std::exchange(on_retired_, nullptr)();
  }
}

}  // namespace kamino::node
