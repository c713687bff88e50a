// What a node of a traditional chain takes back by itself (Kamino-Tx, section
// 7): log entries that it was executing when it ended, or that it could not
// execute to their end. Their write sets are known beforehand, so that what
// they store over is made durable elsewhere first, with one drain.
//
// An entry can be taken back as long as the ring does not durably say that it
// is applied. There may be several, and later ones may have stored over what
// earlier ones have: they are taken back from the last to the first.
//
// States of blocks are not saved. What an entry allocates was free, and what it
// frees was allocated and is still there, as it was: space that an entry has
// freed is not taken by another before the first is durably applied.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_LOCAL_UNDO_H_
#define KAMINO_REPLICA_LOCAL_UNDO_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "engine/heap/heap.h"
#include "engine/kamino/backup.h"
#include "engine/transaction.h"
#include "replica/log_entry.h"
#include "replica/log_ring.h"

namespace kamino::replica {

class LocalUndo {
 public:
  virtual ~LocalUndo() = default;

  // Before anything of the entry after ring.applied() is stored. An error means
  // that it cannot be executed: too much would be written over.
  virtual absl::Status Prepare(const LogEntry& entry,
                               const engine::WriteSet& write_set) = 0;

  // Takes back, durably, what was stored of entries that the ring does not say
  // are applied. The heap is loaded anew.
  virtual absl::Status TakeBack() = 0;
};

// By `backup`, an empty one. All must outlive it.
std::unique_ptr<LocalUndo> MakeLocalUndo(engine::Heap* heap, LogRing* ring,
                                         engine::Backup* backup);

// After a restart, by what is in `backup`: as TakeBack, and loads the heap.
// Again, after a crash on the way, leads to the same. kDataLoss: damaged.
absl::Status TakeBackInterrupted(engine::Heap* heap, const LogRing& ring,
                                 engine::Backup* backup);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LOCAL_UNDO_H_
