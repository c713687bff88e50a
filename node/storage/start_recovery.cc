#include "node/storage/start_recovery.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/kamino/kamino_store.h"
#include "replica/log/log_ring.h"
#include "replica/log/node_record.h"
#include "replica/state/local_undo.h"

namespace kamino::node {

using engine::KaminoStore;
using membership::Condition;
using replica::LogRing;
using replica::NodeState;

absl::Status StartRecovery::Run() {
  const NodeState& state = ring_.record()->state();
  if (state.condition == Condition::kReceiving) {
    heap_.EmptyLog();
    return absl::OkStatus();  // not a heap that can be loaded
  }
  if (state.was_head) return Finish(RollBackHead());
  if (state.local_undo) return Finish(RollBackReplica());
  return heap_.heap()->Load();
}

absl::Status StartRecovery::Finish(const absl::Status& done) {
  age_.ForgetUndoCopy();
  RETURN_IF_ERROR(done);
  ring_.EndUndoCopy();
  undo_copy_.DropOtherSize();
  return absl::OkStatus();
}

absl::Status StartRecovery::RollBackHead() {
  ASSIGN_OR_RETURN(auto undo_copy, undo_copy_.OpenUndoCopy(heap_.heap()));
  engine::KaminoOptions options;
  // Before the log forgets it: after a crash in between it must still be
  // committed.
  options.on_recovered = [this](uint64_t last) { return KeepCommitted(last); };
  ASSIGN_OR_RETURN(
      auto store,
      KaminoStore::Open(heap_.heap(), std::move(undo_copy), options));
  // An entry without a commit record was never sent.
  ring_.ring()->TruncateAfter(ring_.ring()->applied());
  return absl::OkStatus();
}

absl::Status StartRecovery::KeepCommitted(uint64_t last_sequence) {
  LogRing& ring = *ring_.ring();
  const uint64_t committed = std::max(ring.applied(), last_sequence);
  if (committed > ring.received()) {
    return absl::DataLossError(
        absl::StrCat("the heap holds mutation ", committed,
                     ", but the ring ends with ", ring.received()));
  }
  if (!ring.EndsEntry(committed)) {
    return absl::DataLossError(
        absl::StrCat("the heap ends with mutation ", committed,
                     ", which is within a log entry of the ring"));
  }
  ring.MarkApplied(committed);
  ring.PersistApplied();
  return absl::OkStatus();
}

// Entries that were executed beyond the applied mark, perhaps not to their end,
// are rolled back and executed again from the ring. A diverging entry keeps
// this node's result, if it is whole.
absl::Status StartRecovery::RollBackReplica() {
  const NodeState& state = ring_.record()->state();
  const LogRing& ring = *ring_.ring();
  const bool disputed =
      state.disputed == ring.applied() + 1 && state.disputed_whole;
  if (disputed) return heap_.heap()->Load();
  ASSIGN_OR_RETURN(const auto undo_copy, undo_copy_.OpenUndoCopy(heap_.heap()));
  return replica::RollBackInterrupted(heap_.heap(), ring, undo_copy.get());
}

}  // namespace kamino::node
