#include "replica/core/state_replacement.h"

#include "glog/logging.h"

namespace kamino::replica {

void TakeOrigin(const Place& place, NodeState* state) {
  state->epoch = place.view.epoch;
  state->cluster_uuid = UuidFrom(place.view.cluster_uuid);
}

void StateReplacement::OnMessage(
    LinkId link, const kamino::internal::v1::ChainMessage& message,
    absl::Time now) {
  Joiner& joiner = links_->joiner;
  if (!chain_.outbox->Belongs(joiner.Has(link))) return;
  const Soundness& soundness = data_->soundness;
  switch (joiner.OnMessage(message, soundness.may_resume(),
                           soundness.may_catch_up(), now)) {
    case Joiner::Effect::kNone:
      // In a mode with its own rollback, executes the entries it rolled back:
      // they may be the last ones.
      if (joiner.follows()) log_->execution.ExecuteReceived();
      return;
    case Joiner::Effect::kHeapVoid:
      data_->scrub.OnCopied(message.state_begin().borne_out()
                                ? chain_.place->view.tail().node_id
                                : "");
      return OnHeapVoid();
    case Joiner::Effect::kHasHeap:
      links_->completions.Restart(chain_.ring->cleaned());
      links_->upstream.OweCleanUp();
      return;
  }
}

void StateReplacement::OnHeapVoid() {
  log_->history.Forget();
  ForgetSuspicions();
  NodeState state = chain_.record->state();
  LOG_IF(WARNING, state.epoch != 0 && state.epoch < chain_.place->view.epoch)
      << "this node discards its data of recovery epoch " << state.epoch
      << ": the chain has been recovered by force since, and is in epoch "
      << chain_.place->view.epoch;
  TakeOrigin(*chain_.place, &state);
  chain_.record->Update(state);
}

void StateReplacement::Discard() {
  log_->history.Forget();
  chain_.copy->BeginReceiving();
  ForgetSuspicions();
  links_->upstream.Leave();
  links_->downstream.Leave();
  links_->completions.Leave();
  links_->joiner.Leave();
}

void StateReplacement::ForgetSuspicions() {
  data_->divergence.End();
  data_->ForgetInterrupted();
  data_->returning.Forget();
}

}  // namespace kamino::replica
