#include "replica/core/chain_execution.h"

#include <utility>

#include "base/chain_mode.h"

namespace kamino::replica {

ChainExecution::ChainExecution(const ChainContext& chain, Donor* donor,
                               DataParts* data, ChainProgress* progress)
    : chain_(chain),
      donor_(donor),
      data_(data),
      progress_(progress),
      execution_(chain.ring, chain.executor, &data->quarantined, chain.outbox) {
}

void ChainExecution::ExecuteReceived() {
  if (data_->neighbour_repair.torn() || data_->divergence.open()) return;
  if (chain_.ring->applied() == chain_.ring->received()) return;
  const auto dissent = execution_.Run(*chain_.place);
  if (chain_.outbox->failed()) return;
  if (dissent.has_value()) return OnDissent(*dissent);
  progress_->OnApplied();
}

bool ChainExecution::AwaitsAdoption() const {
  return !data_->neighbour_repair.torn() && !data_->divergence.open() &&
         execution_.AwaitsAdoption(*chain_.place);
}

void ChainExecution::OnDissent(const Execution::Dissent& dissent) {
  // The heap is no state of the chain now.
  donor_->Stop();
  progress_->OnApplied();  // earlier entries
  if (chain_.outbox->failed()) return;
  Divergence& divergence = data_->divergence;
  divergence.Begin(dissent.entry, dissent.why, dissent.hash);
  if (!divergence.whole() && RollsBackAlone(chain_.options->mode)) {
    absl::Status rolled_back = chain_.executor->RollBack();
    if (!rolled_back.ok()) return chain_.outbox->Fail(std::move(rolled_back));
  }
  if (!chain_.place->inside()) {  // it is a joining node
    return data_->arbitration.EndThisNode(divergence.first(), "the chain");
  }
  if (!chain_.place->is_head()) return data_->arbitration.TellPredecessor();
  // The entry came from another head, which is gone.
  KeepOwnResult();
  if (!chain_.outbox->failed()) data_->quarantined.SetRedone(0);
}

void ChainExecution::KeepOwnResult() {
  data_->divergent_result.Keep();
  if (!data_->divergence.open() && !chain_.outbox->failed()) {
    progress_->OnApplied();
  }
}

void ChainExecution::ContinueDivergence(absl::Time now) {
  if (!data_->divergence.open() || !data_->soundness.has_state()) return;
  if (!chain_.place->is_head()) return data_->arbitration.Continue(now);
  // The ring may have room now.
  if (data_->divergence.whole()) KeepOwnResult();
}

}  // namespace kamino::replica
