#include "replica/local_undo.h"

#include "absl/memory/memory.h"
#include "replica/copied_undo.h"
#include "replica/logged_undo.h"

namespace kamino::replica {

std::unique_ptr<LocalUndo> MakeLocalUndo(engine::Heap* heap, LogRing* ring,
                                         engine::Backup* backup) {
  if (backup->undo_log() != nullptr) {
    return absl::make_unique<LoggedUndo>(heap, ring, backup);
  }
  return absl::make_unique<CopiedUndo>(heap, ring, backup);
}

absl::Status TakeBackInterrupted(engine::Heap* heap, const LogRing& ring,
                                 engine::Backup* backup) {
  return backup->undo_log() != nullptr
             ? TakeBackByLog(heap, ring, backup->undo_log())
             : TakeBackByCopies(heap, ring, backup);
}

}  // namespace kamino::replica
