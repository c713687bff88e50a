// What a node of a traditional chain takes back by itself (Kamino-Tx, section
// 7): log entries that it was executing when it ended, or that it could not
// execute to their end. Their write sets are known beforehand, so what they
// store over is durable elsewhere before: in an undo log, which is dropped when
// the entry is applied; or in copies, which are brought up to date after that.
//
// An entry can be taken back as long as the ring does not durably say that it
// is applied. There may be several, and later ones may have stored over what
// earlier ones have: they are taken back from the last to the first.
//
// States of blocks are not saved. What an entry allocates was free, and what it
// frees was allocated and is still there, as it was: space that an entry has
// freed is not taken by another one before the first is durably applied.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_LOCAL_UNDO_H_
#define KAMINO_REPLICA_LOCAL_UNDO_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "engine/kamino/backup.h"
#include "engine/transaction.h"
#include "replica/applied_mark.h"
#include "replica/log_entry.h"
#include "replica/log_ring.h"

namespace kamino::replica {

class LocalUndo {
 public:
  // In the backup's region: up to which mutation its copies are up to date.
  static constexpr size_t kMarkOffset = 1216;
  static constexpr size_t kEnd = kMarkOffset + AppliedMark::kBytes;

  virtual ~LocalUndo() = default;

  // Before anything of the entry after ring.applied() is stored. An error means
  // that it cannot be executed: it writes over too much.
  virtual absl::Status Prepare(const LogEntry& entry,
                               const engine::WriteSet& write_set) = 0;

  // Takes back, durably, what was stored of the entry that was prepared last,
  // which is not applied. The heap is loaded anew.
  virtual absl::Status TakeBack() = 0;

  // Brings the changes of up to `max` entries into the copies. Returns whether
  // there is more to do.
  virtual bool Propagate(size_t /*max*/) { return false; }

  virtual engine::BackupStats stats() const = 0;
};

// Where a node's comes from.
class LocalUndoSource {
 public:
  virtual ~LocalUndoSource() = default;

  // Made anew where there is none.
  virtual absl::StatusOr<LocalUndo*> BeginLocalUndo() = 0;
  // Null: there is none.
  virtual LocalUndo* local_undo() = 0;
};

// What a node's undo log holds, records included, if it keeps one; by the size
// of the ring, which is alike at all nodes: so none has too little.
constexpr uint64_t UndoLogBytes(uint64_t ring_bytes) { return ring_bytes / 2; }
// kInvalidArgument: what the entry writes over may not fit that.
absl::Status CheckUndoLogsHold(const engine::WriteSet& write_set,
                               uint64_t ring_bytes);

// By `backup`, an empty one, for what follows on ring.applied(). All must
// outlive it.
std::unique_ptr<LocalUndo> MakeLocalUndo(engine::Heap* heap, LogRing* ring,
                                         engine::Backup* backup);

// After a restart, by what is in `backup`: takes back, durably, what was stored
// of entries that the ring does not say are applied, and loads the heap. Again,
// after a crash on the way, leads to the same. kDataLoss: damaged.
absl::Status TakeBackInterrupted(engine::Heap* heap, const LogRing& ring,
                                 engine::Backup* backup);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LOCAL_UNDO_H_
