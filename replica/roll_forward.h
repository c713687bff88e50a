// Brings log entries to their end by the after-images that they carry, in a
// chain whose entries do (base/chain_mode.h): no neighbour is needed for that,
// nor asked.
//
// Unlike those that a neighbour mends, such entries may share objects: those
// that depend on others go down the chain right behind them. So the heap may be
// that after any of them, and what they name is looked at by its end: of an
// object that a later one frees nothing counts but that free (roll_forward.cc).
//
// What is stored is what the head has left, by its word. Where images are not
// what the head hashed, the node says so and takes them for nobody's word until
// a scrub has borne them out.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_ROLL_FORWARD_H_
#define KAMINO_REPLICA_ROLL_FORWARD_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "replica/executor.h"
#include "replica/log_entry.h"
#include "replica/log_ring.h"

namespace kamino::replica {

class RollForward {
 public:
  // Both must outlive it.
  RollForward(const LogRing* ring, Executor* executor)
      : ring_(ring), executor_(executor) {}

  // Entries (after, last], which both end one. Afterwards the heap is that
  // after the last of them, durably; that they are applied is the caller's to
  // mark. Doing it again, after a crash on the way, leads to the same. What
  // fails stops the node.

  // Any of them may be half executed, or executed altogether.
  absl::Status Interrupted(uint64_t after, uint64_t last);
  // None of them was begun: takes no longer for a larger heap.
  absl::Status Untouched(uint64_t after, uint64_t last);

 private:
  absl::StatusOr<std::vector<LogEntry>> EntriesOf(uint64_t after,
                                                  uint64_t last) const;
  absl::Status Run(const std::vector<LogEntry>& entries, bool interrupted);

  const LogRing* const ring_;
  Executor* const executor_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_ROLL_FORWARD_H_
