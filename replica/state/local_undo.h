// Rollback by the node itself, in a traditional chain (Kamino-Tx, section 7):
// of log entries that it was executing when it ended, or could not execute to
// their end. Write sets are known beforehand, so the old bytes are first made
// durable elsewhere: in an undo log, which is dropped when the entry is
// applied, or in copies, which are updated after that.
//
// An entry can be rolled back until the ring durably marks it applied. There
// may be several, and later ones may have overwritten stores of earlier ones:
// they are rolled back from the last to the first.
//
// The states of blocks are not saved. Blocks that an entry allocates were free.
// Blocks that it frees were allocated and are unchanged: no other entry takes
// freed space before the entry that freed it is durably applied.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_STATE_LOCAL_UNDO_H_
#define KAMINO_REPLICA_STATE_LOCAL_UNDO_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "engine/kamino/undo_copy.h"
#include "engine/transaction.h"
#include "replica/log/applied_mark.h"
#include "replica/log/log_entry.h"
#include "replica/log/log_ring.h"

namespace kamino::replica {

class LocalUndo {
 public:
  // In the undo copy's region: the mutation up to which its copies are updated.
  static constexpr size_t kMarkOffset = 1216;
  static constexpr size_t kEnd = kMarkOffset + AppliedMark::kBytes;

  virtual ~LocalUndo() = default;

  // To be called before the entry after ring.applied() stores anything. After
  // an error the entry cannot be executed: it overwrites too much.
  virtual absl::Status Prepare(const LogEntry& entry,
                               const engine::WriteSet& write_set) = 0;

  // Rolls back, durably, the last prepared entry, which is not applied. Loads
  // the heap anew.
  virtual absl::Status RollBack() = 0;

  // Copies the changes of up to `max` entries. Returns whether there is more to
  // do.
  virtual bool Propagate(size_t /*max*/) { return false; }

  virtual engine::UndoCopyStats stats() const = 0;
};

// Provides a node's LocalUndo.
class LocalUndoSource {
 public:
  virtual ~LocalUndoSource() = default;

  // Makes a new one if there is none.
  virtual absl::StatusOr<LocalUndo*> BeginLocalUndo() = 0;
  // Null: there is none.
  virtual LocalUndo* local_undo() = 0;
};

// Capacity of a node's undo log, if it has one, records included. It depends on
// the size of the ring, which is the same at all nodes: so none has too little.
constexpr uint64_t UndoLogBytes(uint64_t ring_bytes) { return ring_bytes / 2; }
// kInvalidArgument: the bytes that the entry overwrites may not fit.
absl::Status CheckUndoLogsHold(const engine::WriteSet& write_set,
                               uint64_t ring_bytes);

// With `backup`, an empty one, for the entries after ring.applied(). All must
// outlive it.
std::unique_ptr<LocalUndo> MakeLocalUndo(engine::Heap* heap, LogRing* ring,
                                         engine::UndoCopy* undo_copy);

// After a restart: rolls back by `backup`, durably, stores of entries that the
// ring does not mark applied, and loads the heap. Repeating it after a crash
// has the same result. kDataLoss: damaged.
absl::Status RollBackInterrupted(engine::Heap* heap, const LogRing& ring,
                                 engine::UndoCopy* undo_copy);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_LOCAL_UNDO_H_
