#include "replica/state/interrupted_blocks.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::replica {

using engine::Heap;
using engine::Intent;
using engine::IntentKind;
using engine::ObjectId;

absl::StatusOr<InterruptedBlocks> InterruptedBlocksOf(const LogRing& ring) {
  InterruptedBlocks blocks;
  for (uint64_t last = ring.applied(); last < ring.received();) {
    const LogEntry entry = ring.EntryOf(last + 1);
    last = entry.last();
    ASSIGN_OR_RETURN(const auto write_set, entry.WriteSet());
    for (const Intent& intent : write_set) {
      if (intent.kind == IntentKind::kWrite) continue;
      // The first intent shows the earlier state.
      blocks.try_emplace(
          intent.object,
          BlockBefore{intent.length, intent.kind == IntentKind::kFree});
    }
  }
  return blocks;
}

absl::Status RestoreBlocks(const InterruptedBlocks& blocks, Heap* heap) {
  std::vector<ObjectId> ids;
  for (const auto& [id, before] : blocks) ids.push_back(id);
  ASSIGN_OR_RETURN(const Heap::Blocks there, heap->Load(ids));
  bool changed = false;
  for (const auto& [id, before] : blocks) {
    const auto found = there.find(id);
    const bool is_block = found != there.end();
    if (before.allocated &&
        (!is_block || found->second.capacity != before.capacity)) {
      return absl::DataLossError(absl::StrCat(
          "the heap is damaged: an interrupted log entry frees object ", id,
          ", which is not there"));
    }
    if (!is_block || found->second.allocated == before.allocated) continue;
    if (before.allocated) {
      heap->states().MarkAllocated(id);
    } else {
      heap->states().MarkFree(id);
    }
    changed = true;
  }
  heap->region()->Drain();
  return changed ? heap->Load() : absl::OkStatus();
}

}  // namespace kamino::replica
