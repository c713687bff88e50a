// LocalUndo by an undo log: old bytes are copied in the critical path, with one
// drain for each entry, and dropped when the entry is durably applied.
#ifndef KAMINO_REPLICA_STATE_LOGGED_UNDO_H_
#define KAMINO_REPLICA_STATE_LOGGED_UNDO_H_

#include "engine/kamino/undo_log.h"
#include "replica/state/local_undo.h"

namespace kamino::replica {

class LoggedUndo final : public LocalUndo {
 public:
  LoggedUndo(engine::Heap* heap, LogRing* ring, engine::UndoCopy* undo_copy)
      : heap_(heap),
        ring_(ring),
        undo_copy_(undo_copy),
        log_(undo_copy->undo_log()) {}

  absl::Status Prepare(const LogEntry& entry,
                       const engine::WriteSet& write_set) override;
  absl::Status RollBack() override;
  engine::UndoCopyStats stats() const override { return undo_copy_->stats(); }

 private:
  void ForgetApplied();

  engine::Heap* const heap_;
  LogRing* const ring_;
  const engine::UndoCopy* const undo_copy_;
  engine::UndoLog* const log_;
  bool frees_ = false;  // an entry that frees is not durably applied
};

// As RollBackInterrupted.
absl::Status RollBackByLog(engine::Heap* heap, const LogRing& ring,
                           engine::UndoLog* log);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_LOGGED_UNDO_H_
