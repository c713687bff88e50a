#include "replica/integrity/soundness.h"

#include "absl/time/time.h"

namespace kamino::replica {

using membership::Condition;

Condition Soundness::condition() const {
  const Condition recorded = chain_.record->state().condition;
  if (recorded != Condition::kSound) return recorded;
  if (inputs_.returning->outrun()) return Condition::kOutrun;
  if (half_executed()) return Condition::kTorn;
  return inputs_.returning->trusted() ? Condition::kSound
                                      : Condition::kReturned;
}

bool Soundness::ready() const {
  return !chain_.outbox->failed() && chain_.place->inside() &&
         !inputs_.divergence->open() && no_damage_suspected() &&
         condition() == Condition::kSound;
}

bool Soundness::no_damage_suspected() const {
  return !inputs_.damage->condemned() && !inputs_.scrub->has_unresolved_range();
}

bool Soundness::has_state() const {
  return chain_.record->state().condition != Condition::kReceiving;
}

bool Soundness::behind() const {
  return chain_.record->state().condition == Condition::kBehind;
}

bool Soundness::half_executed() const {
  return (inputs_.neighbour_repair->torn() &&
          !inputs_.neighbour_repair->untouched()) ||
         !inputs_.divergent_result->whole();
}

bool Soundness::may_resume() const {
  return behind() && !inputs_.neighbour_repair->torn() &&
         chain_.record->state().epoch == chain_.place->view.epoch;
}

bool Soundness::may_catch_up() const {
  const NodeState& state = chain_.record->state();
  return chain_.options->keep_changes > absl::ZeroDuration() &&
         !chain_.place->inside() && state.condition == Condition::kSound &&
         state.view_id != 0 && state.epoch == chain_.place->view.epoch &&
         state.disputed == 0 && no_damage_suspected();
}

bool Soundness::may_compare() const {
  return inputs_.scrub->takes_part() && !chain_.outbox->failed() &&
         !inputs_.damage->condemned() && chain_.place->inside() &&
         !inputs_.divergence->open() && condition() == Condition::kSound;
}

}  // namespace kamino::replica
