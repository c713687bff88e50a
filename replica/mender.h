// Brings the objects of interrupted log entries into the state that a neighbour
// holds them in (Kamino-Tx, section 5.3).
//
// Neighbours have the same objects at the same offsets. Entries in flight
// touch no object in common, so what the neighbour holds of an interrupted one
// is its state before or after that entry and no other. Those that a node on a
// slightly older copy of its data is sent again were completed once, and may:
// there a predecessor holds the state after the last one.
//
// Not thread-safe.
#ifndef KAMINO_REPLICA_MENDER_H_
#define KAMINO_REPLICA_MENDER_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/heap/heap.h"
#include "engine/transaction.h"
#include "replica/executor.h"

namespace kamino::replica {

class Mender {
 public:
  explicit Mender(engine::Heap* heap) : heap_(heap) {}  // must outlive this

  // Sorts intents, which come in the log's order, into the one they are mended
  // in: blocks are there before they are stored to, and given up after. Of each
  // block that is allocated or freed more than once those count that tell of
  // the state it is brought into.
  static void Order(Mend mend, engine::WriteSet* intents);

  // Finds out which of the intents' objects the crash left allocated; loads the
  // heap for that. kDataLoss: it is damaged.
  absl::Status Begin(const engine::WriteSet& intents);

  // The same where no crash was: the heap is loaded, and only those objects are
  // looked at. Those that are allocated by the first of their intents, which
  // come in the log's order, count as free.
  absl::Status BeginWhole(const engine::WriteSet& intents);

  // kDataLoss: the block does not fit. kInvalidArgument: `bytes` are not what
  // was asked for, and nothing was done.
  absl::Status Apply(const engine::Intent& intent, absl::string_view bytes,
                     Mend mend);

 private:
  absl::Status MakeAllocated(const engine::Intent& intent,
                             absl::string_view bytes);
  void MakeFree(const engine::Intent& intent);
  absl::Status Store(const engine::Intent& intent, absl::string_view bytes);
  bool IsAllocated(engine::ObjectId id) const;
  // Whether it is of use what a neighbour has of it.
  bool Stores(const engine::Intent& intent, Mend mend) const;

  engine::Heap* const heap_;
  engine::Heap::Blocks blocks_;
  bool freed_ = false;  // a block, since the last drain
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_MENDER_H_
