// The core's handling of a divergence: a log entry has another result here than
// at the head (replica/dispute.h).
#include <utility>

#include "replica/chain_core.h"

namespace kamino::replica {

void ChainCore::OnDissent(const Execution::Dissent& dissent) {
  // The heap is no state of the chain now.
  donor_.Stop();
  AfterApplied();  // earlier entries
  if (outbox_.failed()) return;
  dispute_.Begin(dissent.entry, dissent.why, dissent.hash);
  if (!dispute_.whole() && TakesBackAlone(options_.mode)) {
    absl::Status taken_back = context_.executor->TakeBack();
    if (!taken_back.ok()) return outbox_.Fail(std::move(taken_back));
  }
  if (!place_.inside()) {  // it is a joining node
    return arbitration_.Convict(dispute_.first(), "the chain");
  }
  if (!is_head()) return arbitration_.TellPredecessor();
  // The entry came from another head, which is gone.
  KeepOwnResult();
  if (!outbox_.failed()) deadly_.SetRedone(0);
}

void ChainCore::KeepOwnResult() {
  disputed_result_.Keep();
  if (!dispute_.open() && !outbox_.failed()) AfterApplied();
}

void ChainCore::ContinueDispute(absl::Time now) {
  if (!dispute_.open() || !has_state()) return;
  if (!is_head()) return arbitration_.Continue(now);
  if (dispute_.whole()) return KeepOwnResult();  // the ring may have room now
  if (mending_.state() == Mending::State::kTorn && downstream_.replicates() &&
      MayTakeBack()) {
    GoOnMended(mending_.Begin(downstream_.link(), Mend::kBack, now));
  }
}

}  // namespace kamino::replica
