#include "replica/state/local_undo.h"

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "engine/kamino/undo_log.h"
#include "replica/state/copied_undo.h"
#include "replica/state/logged_undo.h"

namespace kamino::replica {

absl::Status CheckUndoLogsHold(const engine::WriteSet& write_set,
                               uint64_t ring_bytes) {
  uint64_t ranges = 0;
  uint64_t bytes = 0;
  for (const engine::Intent& intent : write_set) {
    if (intent.kind != engine::IntentKind::kWrite) continue;
    ++ranges;
    bytes += intent.length;
  }
  const uint64_t room = UndoLogBytes(ring_bytes);
  if (engine::UndoLog::BytesFor(ranges, bytes) <= room) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a log entry that writes over ", bytes, " bytes, in ", ranges,
      " ranges; the nodes' undo logs have room for half the size of the ring: ",
      room));
}

std::unique_ptr<LocalUndo> MakeLocalUndo(engine::Heap* heap, LogRing* ring,
                                         engine::UndoCopy* undo_copy) {
  if (undo_copy->undo_log() != nullptr) {
    return absl::make_unique<LoggedUndo>(heap, ring, undo_copy);
  }
  return absl::make_unique<CopiedUndo>(heap, ring, undo_copy);
}

absl::Status RollBackInterrupted(engine::Heap* heap, const LogRing& ring,
                                 engine::UndoCopy* undo_copy) {
  return undo_copy->undo_log() != nullptr
             ? RollBackByLog(heap, ring, undo_copy->undo_log())
             : RollBackByCopies(heap, ring, undo_copy);
}

}  // namespace kamino::replica
