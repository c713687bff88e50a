// What a node's core does about log entries that a node may have died of
// (replica/deadly_entries.h).
#include <algorithm>

#include "glog/logging.h"
#include "replica/chain_core.h"

namespace kamino::replica {

using membership::Member;
using membership::View;

void ChainCore::NoteOnTheWay(const View& next) {
  const Member* successor = !place_.inside() ? nullptr : place_.successor();
  if (successor == nullptr) return;
  if (next.IndexOf(successor->node_id, successor->incarnation) >= 0) return;
  NoteDeadly(KnownComplete(), downstream_.sent());
}

uint64_t ChainCore::KnownComplete() const {
  return is_head() ? std::max(completed(), ring_->cleaned()) : ring_->cleaned();
}

void ChainCore::NoteDeadly(uint64_t after, uint64_t last) {
  // What a neighbour holds of their objects later entries have changed, too.
  if (options_.mode == ChainMode::kTraditional) return;
  deadly_.Note(after, last, KnownComplete());
}

void ChainCore::AdoptDeadly(absl::Time now) {
  if (mending_.torn() || dispute_.open() || !upstream_.attached() ||
      !execution_.AwaitsAdoption(place_)) {
    return;
  }
  const uint64_t complete = deadly_.CompleteAsShared();
  if (complete > ring_->applied()) {
    deadly_.Pass(complete);
    return ExecuteReceived();  // the others are adopted with the next batch
  }
  GoOnMended(mending_.Adopt(upstream_.link(), now));
}

void ChainCore::ExecuteAdopted() {
  LOG(INFO) << "mutations (" << ring_->applied() << ", " << ring_->received()
            << "] are complete: the predecessor holds what came of later ones "
               "as well; they are executed here";
  mending_.Forget();
  deadly_.Forget();
  ExecuteReceived();
  SendSync(upstream_.link());  // what came meanwhile was not taken in
}

void ChainCore::DropInterrupted() {
  LOG(WARNING) << "this node died when it executed mutation "
               << deadly_.redone()
               << " again; what it has received and not executed is dropped, "
                  "up to mutation "
               << ring_->received();
  ring_->TruncateAfter(ring_->applied());
  deadly_.SetRedone(0);
}

void ChainCore::ForgetInterrupted() {
  mending_.Forget();
  deadly_.Forget();
  deadly_.SetRedone(0);
}

}  // namespace kamino::replica
