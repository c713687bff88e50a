#include "replica/state/logged_undo.h"

#include <algorithm>

#include "base/status_macros.h"
#include "glog/logging.h"
#include "replica/state/interrupted_blocks.h"

namespace kamino::replica {

using engine::Intent;
using engine::IntentKind;
using engine::WriteSet;

namespace {

bool Has(const WriteSet& write_set, IntentKind kind) {
  return std::any_of(
      write_set.begin(), write_set.end(),
      [kind](const Intent& intent) { return intent.kind == kind; });
}

}  // namespace

void LoggedUndo::ForgetApplied() {
  if (!ring_->marks().durable()) return;
  log_->Reuse();
  frees_ = false;
}

absl::Status LoggedUndo::Prepare(const LogEntry& entry,
                                 const WriteSet& write_set) {
  CHECK_EQ(entry.first(), ring_->applied() + 1);
  if (frees_ && Has(write_set, IntentKind::kAlloc)) ring_->PersistApplied();
  ForgetApplied();
  absl::Status saved = log_->Save(entry.first(), write_set);
  if (absl::IsResourceExhausted(saved)) {
    ring_->PersistApplied();
    ForgetApplied();
    saved = log_->Save(entry.first(), write_set);
  }
  RETURN_IF_ERROR(saved);
  if (Has(write_set, IntentKind::kWrite)) log_->region()->Drain();
  frees_ |= Has(write_set, IntentKind::kFree);
  return absl::OkStatus();
}

absl::Status LoggedUndo::RollBack() {
  RETURN_IF_ERROR(RollBackByLog(heap_, *ring_, log_));
  // Entries that are applied, but not durably, may still have to be rolled
  // back.
  ring_->PersistApplied();
  log_->Forget();
  frees_ = false;
  return absl::OkStatus();
}

absl::Status RollBackByLog(engine::Heap* heap, const LogRing& ring,
                           engine::UndoLog* log) {
  log->RollBack(ring.applied());
  ASSIGN_OR_RETURN(const InterruptedBlocks blocks, InterruptedBlocksOf(ring));
  return RestoreBlocks(blocks, heap);
}

}  // namespace kamino::replica
