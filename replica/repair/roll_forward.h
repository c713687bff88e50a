// Rolls log entries forward by their after-images, in chains whose entries
// carry them (base/chain_mode.h). It needs no neighbour.
//
// Unlike entries that a neighbour repairs, these may share objects: dependent
// entries go down the chain right behind each other. So the heap may be in the
// state after any of them, and only an object's final state counts: if a later
// entry frees it, only that free counts (roll_forward.cc).
//
// The head's after-images are stored as they are. If they do not match the
// head's hash, the node says so and treats them as unconfirmed until a scrub
// has confirmed them.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_REPAIR_ROLL_FORWARD_H_
#define KAMINO_REPLICA_REPAIR_ROLL_FORWARD_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "replica/log/log_entry.h"
#include "replica/log/log_ring.h"
#include "replica/state/executor.h"

namespace kamino::replica {

class RollForward {
 public:
  // Both must outlive it.
  RollForward(const LogRing* ring, Executor* executor)
      : ring_(ring), executor_(executor) {}

  // Entries (after, last], where both end an entry. Afterwards the heap is in
  // the state after the last of them, durably; the caller marks them applied.
  // Repeating it after a crash has the same result. A failure stops the node.

  // Any of them may be torn, or executed.
  absl::Status Interrupted(uint64_t after, uint64_t last);
  // None of them was begun: a larger heap takes no longer.
  absl::Status Untouched(uint64_t after, uint64_t last);

 private:
  absl::StatusOr<std::vector<LogEntry>> EntriesOf(uint64_t after,
                                                  uint64_t last) const;
  absl::Status Run(const std::vector<LogEntry>& entries, bool interrupted);

  const LogRing* const ring_;
  Executor* const executor_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_REPAIR_ROLL_FORWARD_H_
