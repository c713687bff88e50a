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
  if (data_->mending.torn() || data_->dispute.open()) return;
  if (chain_.ring->applied() == chain_.ring->received()) return;
  const auto dissent = execution_.Run(*chain_.place);
  if (chain_.outbox->failed()) return;
  if (dissent.has_value()) return OnDissent(*dissent);
  progress_->OnApplied();
}

bool ChainExecution::AwaitsAdoption() const {
  return !data_->mending.torn() && !data_->dispute.open() &&
         execution_.AwaitsAdoption(*chain_.place);
}

void ChainExecution::OnDissent(const Execution::Dissent& dissent) {
  // The heap is no state of the chain now.
  donor_->Stop();
  progress_->OnApplied();  // earlier entries
  if (chain_.outbox->failed()) return;
  Dispute& dispute = data_->dispute;
  dispute.Begin(dissent.entry, dissent.why, dissent.hash);
  if (!dispute.whole() && TakesBackAlone(chain_.options->mode)) {
    absl::Status taken_back = chain_.executor->TakeBack();
    if (!taken_back.ok()) return chain_.outbox->Fail(std::move(taken_back));
  }
  if (!chain_.place->inside()) {  // it is a joining node
    return data_->arbitration.Convict(dispute.first(), "the chain");
  }
  if (!chain_.place->is_head()) return data_->arbitration.TellPredecessor();
  // The entry came from another head, which is gone.
  KeepOwnResult();
  if (!chain_.outbox->failed()) data_->quarantined.SetRedone(0);
}

void ChainExecution::KeepOwnResult() {
  data_->disputed_result.Keep();
  if (!data_->dispute.open() && !chain_.outbox->failed()) {
    progress_->OnApplied();
  }
}

void ChainExecution::ContinueDispute(absl::Time now) {
  if (!data_->dispute.open() || !data_->soundness.has_state()) return;
  if (!chain_.place->is_head()) return data_->arbitration.Continue(now);
  // The ring may have room now.
  if (data_->dispute.whole()) KeepOwnResult();
}

}  // namespace kamino::replica
