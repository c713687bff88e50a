#include "replica/integrity/soundness.h"

#include "absl/time/time.h"

namespace kamino::replica {

using membership::Condition;

Condition Soundness::condition() const {
  const Condition recorded = chain_.record->state().condition;
  if (recorded != Condition::kSound) return recorded;
  if (doubts_.returning->outrun()) return Condition::kOutrun;
  if (half_executed()) return Condition::kTorn;
  return doubts_.returning->trusted() ? Condition::kSound
                                      : Condition::kReturned;
}

bool Soundness::ready() const {
  return !chain_.outbox->failed() && chain_.place->inside() &&
         !doubts_.dispute->open() && beyond_doubt() &&
         condition() == Condition::kSound;
}

bool Soundness::beyond_doubt() const {
  return !doubts_.damage->condemned() && !doubts_.scrub->in_doubt();
}

bool Soundness::has_state() const {
  return chain_.record->state().condition != Condition::kReceiving;
}

bool Soundness::behind() const {
  return chain_.record->state().condition == Condition::kBehind;
}

bool Soundness::half_executed() const {
  return (doubts_.mending->torn() && !doubts_.mending->untouched()) ||
         !doubts_.disputed_result->whole();
}

bool Soundness::may_resume() const {
  return behind() && !doubts_.mending->torn() &&
         chain_.record->state().epoch == chain_.place->view.epoch;
}

bool Soundness::may_catch_up() const {
  const NodeState& state = chain_.record->state();
  return chain_.options->keep_changes > absl::ZeroDuration() &&
         !chain_.place->inside() && state.condition == Condition::kSound &&
         state.view_id != 0 && state.epoch == chain_.place->view.epoch &&
         state.disputed == 0 && beyond_doubt();
}

bool Soundness::may_compare() const {
  return doubts_.scrub->takes_part() && !chain_.outbox->failed() &&
         !doubts_.damage->condemned() && chain_.place->inside() &&
         !doubts_.dispute->open() && condition() == Condition::kSound;
}

}  // namespace kamino::replica
