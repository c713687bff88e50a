// Executes entries that the ring has received and the heap lacks: in place, in
// order (Kamino-Tx, section 5.2). A head does so with entries that were in its
// ring when it became head, or were interrupted; meanwhile its record names the
// entry that it executes again (replica/log/quarantined_entries.h).
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_CORE_EXECUTION_H_
#define KAMINO_REPLICA_CORE_EXECUTION_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "replica/link/outbox.h"
#include "replica/link/place.h"
#include "replica/log/log_entry.h"
#include "replica/log/log_ring.h"
#include "replica/log/quarantined_entries.h"
#include "replica/state/executor.h"

namespace kamino::replica {

class Execution {
 public:
  // An entry has another result here than at the head.
  struct Dissent {
    LogEntry entry;     // as LogRing::EntryOf; not applied, so never cleaned
    absl::Status why;   // error of the execution; OK: other bytes,
    uint64_t hash = 0;  // with this hash
  };

  // All pointers must outlive it.
  Execution(LogRing* ring, Executor* executor, QuarantinedEntries* quarantined,
            Outbox* outbox)
      : ring_(ring),
        executor_(executor),
        quarantined_(quarantined),
        outbox_(outbox) {}

  // Marks executed entries applied. Stops at an entry that must be adopted, or
  // with a divergence: then a head's record still names the entry until the
  // divergence is durable. Another error fails the node.
  std::optional<Dissent> Run(const Place& place);
  // Whether the next entry is quarantined: the predecessor has executed it, and
  // this node must take over the predecessor's result.
  bool AwaitsAdoption(const Place& place) const;

 private:
  // Null: it is applied, or the node has failed.
  std::optional<Dissent> ExecuteNext();
  std::optional<Dissent> RunAgain();
  bool more() const {
    return !outbox_->failed() && ring_->applied() < ring_->received();
  }

  LogRing* const ring_;
  Executor* const executor_;
  QuarantinedEntries* const quarantined_;
  Outbox* const outbox_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CORE_EXECUTION_H_
