#include "engine/kamino/range_saver.h"

#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::engine {

absl::Status RangeSaver::SaveRanges(TransactionState* state,
                                    absl::Span<const Intent> more) {
  WriteSet& unsaved = state->unsaved;
  unsaved.clear();
  state->foreseen.clear();
  for (size_t i = state->saved; i < state->ranges.size(); ++i) {
    const auto& object = state->objects[state->ranges[i].object];
    if (object.allocated || object.freed) continue;
    unsaved.push_back(state->ranges[i].intent);
  }
  unsaved.insert(unsaved.end(), more.begin(), more.end());
  if (!unsaved.empty()) {
    CHECK(owner_ == 0 || owner_ == state->owner)
        << "over an undo log one transaction stores at a time";
    owner_ = state->owner;
    RETURN_IF_ERROR(log_->Save(committed_ + 1, unsaved));
    log_->region()->Drain();
  }
  state->saved = state->ranges.size();
  return absl::OkStatus();
}

absl::Status RangeSaver::SaveUnforeseen(TransactionState* state,
                                        const Intent& intent) {
  WriteSet& foreseen = state->foreseen;
  if (!foreseen.empty() && foreseen.back() == intent &&
      state->saved == state->ranges.size()) {
    foreseen.pop_back();
  } else {
    RETURN_IF_ERROR(SaveRanges(state, {&intent, 1}));
  }
  ++state->saved;
  return absl::OkStatus();
}

void RangeSaver::Restore(const TransactionState& state) {
  if (owner_ != state.owner) return;  // nothing was stored
  log_->RollBack(committed_);
  heap_->Drain();
  log_->Reuse();
  owner_ = 0;
}

void RangeSaver::Committed(const TransactionState& state) {
  CHECK_GT(state.sequence, committed_);
  CHECK(owner_ == 0 || owner_ == state.owner);
  committed_ = state.sequence;
  log_->Reuse();
  owner_ = 0;
}

}  // namespace kamino::engine
