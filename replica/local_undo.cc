#include "replica/local_undo.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/kamino/undo_log.h"
#include "glog/logging.h"

namespace kamino::replica {

using engine::Heap;
using engine::Intent;
using engine::IntentKind;
using engine::ObjectId;
using engine::UndoLog;
using engine::WriteSet;

namespace {

// Of blocks that entries which are taken back allocate or free, whether each
// was allocated before all of them, and its capacity.
struct Before {
  uint32_t capacity = 0;
  bool allocated = false;
};
using Blocks = std::map<ObjectId, Before>;

absl::StatusOr<Blocks> BlocksBefore(const LogRing& ring) {
  Blocks blocks;
  for (uint64_t last = ring.applied(); last < ring.received();) {
    const LogEntry entry = ring.EntryOf(last + 1);
    last = entry.last();
    ASSIGN_OR_RETURN(const auto write_set, entry.WriteSet());
    for (const Intent& intent : write_set) {
      if (intent.kind == IntentKind::kWrite) continue;
      // The first one shows how it was.
      blocks.try_emplace(
          intent.object,
          Before{intent.length, intent.kind == IntentKind::kFree});
    }
  }
  return blocks;
}

// Of an entry that was not executed at all nothing changes.
absl::Status TakeBackBlocks(Heap* heap, const LogRing& ring) {
  ASSIGN_OR_RETURN(const Blocks blocks, BlocksBefore(ring));
  std::vector<ObjectId> ids;
  for (const auto& [id, before] : blocks) ids.push_back(id);
  ASSIGN_OR_RETURN(const Heap::Blocks there, heap->Load(ids));
  bool changed = false;
  for (const auto& [id, before] : blocks) {
    const auto found = there.find(id);
    const bool is_block = found != there.end();
    if (before.allocated &&
        (!is_block || found->second.capacity != before.capacity)) {
      return absl::DataLossError(
          absl::StrCat("the heap is damaged: an interrupted log entry frees "
                       "object ",
                       id, ", which is not there"));
    }
    if (!is_block || found->second.allocated == before.allocated) continue;
    if (before.allocated) {
      heap->MarkAllocated(id);
    } else {
      heap->MarkFree(id);
    }
    changed = true;
  }
  heap->region()->Drain();
  return changed ? heap->Load() : absl::OkStatus();
}

bool Has(const WriteSet& write_set, IntentKind kind) {
  return std::any_of(
      write_set.begin(), write_set.end(),
      [kind](const Intent& intent) { return intent.kind == kind; });
}

// --- By an undo log.

class LoggedUndo final : public LocalUndo {
 public:
  LoggedUndo(Heap* heap, LogRing* ring, UndoLog* log)
      : heap_(heap), ring_(ring), log_(log) {}

  absl::Status Prepare(const LogEntry& entry,
                       const WriteSet& write_set) override {
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

  absl::Status TakeBack() override {
    log_->TakeBack(ring_->applied());
    RETURN_IF_ERROR(TakeBackBlocks(heap_, *ring_));
    log_->Forget();
    return absl::OkStatus();
  }

 private:
  void ForgetApplied() {
    if (!ring_->applied_is_durable()) return;
    log_->Reuse();
    frees_ = false;
  }

  Heap* const heap_;
  LogRing* const ring_;
  UndoLog* const log_;
  bool frees_ = false;  // so does one that is not durably applied
};

}  // namespace

std::unique_ptr<LocalUndo> MakeLocalUndo(Heap* heap, LogRing* ring,
                                         engine::Backup* backup) {
  CHECK(backup->undo_log() != nullptr);
  return absl::make_unique<LoggedUndo>(heap, ring, backup->undo_log());
}

absl::Status TakeBackInterrupted(Heap* heap, const LogRing& ring,
                                 engine::Backup* backup) {
  backup->undo_log()->TakeBack(ring.applied());
  return TakeBackBlocks(heap, ring);
}

}  // namespace kamino::replica
