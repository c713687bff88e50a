// Recovers a node's heap when the node starts: rolls back what an earlier start
// left unfinished and could not commit, and loads the heap.
//
// Not thread-safe; for one recovery.
#ifndef KAMINO_NODE_STORAGE_START_RECOVERY_H_
#define KAMINO_NODE_STORAGE_START_RECOVERY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "node/storage/common_age.h"
#include "node/storage/stored_heap.h"
#include "node/storage/stored_ring.h"
#include "node/storage/stored_undo_copy.h"

namespace kamino::node {

class StartRecovery {
 public:
  // `age` has checked the regions. All must outlive it.
  StartRecovery(StoredHeap* heap, StoredRing* ring, StoredUndoCopy* undo_copy,
                CommonAge* age)
      : heap_(*heap), ring_(*ring), undo_copy_(*undo_copy), age_(*age) {}

  // Durable on return; repeating it after a crash has the same result. A heap
  // that was being received is not loaded. kDataLoss: damaged.
  absl::Status Run();

 private:
  // Rolls back what this node, as a head, had not committed.
  absl::Status RollBackHead();
  // The same for entries that it was executing as a replica.
  absl::Status RollBackReplica();
  // `done`: the rollback from the undo copy, which is void from then on.
  absl::Status Finish(const absl::Status& done);
  // Entries with a commit record are applied.
  absl::Status KeepCommitted(uint64_t last_sequence);

  StoredHeap& heap_;
  StoredRing& ring_;
  StoredUndoCopy& undo_copy_;
  CommonAge& age_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_START_RECOVERY_H_
