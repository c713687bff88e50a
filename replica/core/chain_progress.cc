#include "replica/core/chain_progress.h"

#include <algorithm>

namespace kamino::replica {

using membership::Condition;
using membership::Role;

uint64_t ChainProgress::settled() const {
  if (chain_.place->is_tail() && data_->soundness.ready()) {
    return chain_.ring->applied();
  }
  return known_complete();
}

uint64_t ChainProgress::known_complete() const {
  return chain_.place->is_head() ? std::max(completed(), chain_.ring->cleaned())
                                 : chain_.ring->cleaned();
}

void ChainProgress::OnApplied() {
  history_->OnApplied();
  chain_.ring->PersistApplied();  // invariant 4 of replica/core/chain_core.h
  CheckCaughtUp();
  CheckReturned();
  if (chain_.place->is_tail()) CompleteAsTail();
  if (links_->joiner.follows()) CleanTo(chain_.ring->applied());
}

void ChainProgress::CompleteAsTail() {
  data_->quarantined.OnComplete(chain_.ring->applied());
  const uint64_t complete = links_->donor.MayComplete();
  if (chain_.place->is_head()) links_->completions.CompleteTo(complete);
  links_->completions.Owe();
  if (!links_->donor.KeepsRing()) CleanTo(complete);
}

void ChainProgress::CleanTo(uint64_t sequence) {
  // All nodes have applied cleaned entries, so they are completed as well.
  if (chain_.place->is_head()) links_->completions.CompleteTo(sequence);
  if (sequence <= chain_.ring->cleaned()) return;
  chain_.ring->Clean(sequence);
  links_->upstream.OnCleaned();
}

void ChainProgress::CheckCaughtUp() {
  if (!links_->joiner.OnApplied()) return;
  NodeState state = chain_.record->state();
  if (state.condition == Condition::kSound) return;
  state.condition = Condition::kSound;
  chain_.record->Update(state);
}

void ChainProgress::CheckReturned() {
  Returning& returning = data_->returning;
  if (returning.trusted()) return;
  if (returning.after() == Returning::Word::kAgrees) {
    links_->upstream.AskAgain();
  }
  returning.Check();
}

void ChainProgress::OnTick(absl::Time now) {
  const Downstream& downstream = links_->downstream;
  const Announcements& announcements = links_->announcements;
  append_wait_.Update(downstream.waits() || announcements.waits(),
                      downstream.acked() + announcements.answers(), now);
  completion_wait_.Update(
      chain_.place->role() == Role::kHead && chain_.ring->applied() > settled(),
      settled(), now);
}

void ChainProgress::OnStoodStill(absl::Duration time,
                                 absl::Duration failure_timeout) {
  append_wait_.StoodStill(time, failure_timeout);
  completion_wait_.StoodStill(time, failure_timeout);
}

void ChainProgress::Leave() {
  append_wait_.Reset();
  completion_wait_.Reset();
}

}  // namespace kamino::replica
