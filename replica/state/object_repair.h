// Repairs the objects of interrupted log entries: brings them into the state
// that a neighbour holds (Kamino-Tx, section 5.3).
//
// Neighbours have the same objects at the same offsets. Entries in flight share
// no object, so a neighbour holds the state before or after the interrupted
// entry and no other. A node with a slightly stale copy may receive entries
// that were completed before. Such entries may share objects; the predecessor
// then holds the state after the last of them.
//
// Not thread-safe.
#ifndef KAMINO_REPLICA_STATE_OBJECT_REPAIR_H_
#define KAMINO_REPLICA_STATE_OBJECT_REPAIR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/heap/heap.h"
#include "engine/transaction.h"
#include "replica/state/executor.h"

namespace kamino::replica {

class ObjectRepair {
 public:
  explicit ObjectRepair(engine::Heap* heap)
      : heap_(heap) {}  // must outlive this

  // Sorts intents from the log's order into the order of repair: blocks exist
  // before stores to them, and are freed afterwards. If a block is allocated or
  // freed more than once, only the intents count that determine its final
  // state.
  static void Order(RepairDirection direction, engine::WriteSet* intents);

  // Determines which of the intents' objects the crash left allocated; loads
  // the heap for that. kDataLoss: it is damaged.
  absl::Status Begin(const engine::WriteSet& intents);

  // The same without a crash: the heap is loaded, and only those objects are
  // examined. Objects whose first intent, in the log's order, allocates them
  // count as free.
  absl::Status BeginWhole(const engine::WriteSet& intents);

  // kDataLoss: the block does not fit. kInvalidArgument: `bytes` do not match
  // the intent; nothing was done.
  absl::Status Apply(const engine::Intent& intent, absl::string_view bytes,
                     RepairDirection direction);

 private:
  absl::Status MakeAllocated(const engine::Intent& intent,
                             absl::string_view bytes);
  void MakeFree(const engine::Intent& intent);
  absl::Status Store(const engine::Intent& intent, absl::string_view bytes);
  bool IsAllocated(engine::ObjectId id) const;
  // Whether the neighbour's bytes for the intent are needed.
  bool Stores(const engine::Intent& intent, RepairDirection direction) const;

  engine::Heap* const heap_;
  engine::Heap::Blocks blocks_;
  bool freed_ = false;  // freed a block since the last drain
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_OBJECT_REPAIR_H_
