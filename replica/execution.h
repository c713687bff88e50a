// Executes what the ring has received and the heap lacks: in place, in order
// (Kamino-Tx, section 5.2). A head does so with what was in its ring when it
// became one, or was interrupted: the entry that it executes again is in its
// record meanwhile (replica/deadly_entries.h).
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_EXECUTION_H_
#define KAMINO_REPLICA_EXECUTION_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "replica/deadly_entries.h"
#include "replica/executor.h"
#include "replica/log_entry.h"
#include "replica/log_ring.h"
#include "replica/outbox.h"
#include "replica/place.h"

namespace kamino::replica {

class Execution {
 public:
  // An entry came to something else here than at the head.
  struct Dissent {
    LogEntry entry;     // as LogRing::EntryOf; not applied, so never cleaned
    absl::Status why;   // what its execution ended with; OK: other bytes,
    uint64_t hash = 0;  // whose hash is this
  };

  // All must outlive it.
  Execution(LogRing* ring, Executor* executor, DeadlyEntries* deadly,
            Outbox* outbox)
      : ring_(ring), executor_(executor), deadly_(deadly), outbox_(outbox) {}

  // Marks applied what it executes, and ends at an entry that is to be adopted,
  // or with a dissent: a head's entry is still said to be executed again then,
  // until the dispute is durable. An error of another kind fails the node.
  std::optional<Dissent> Run(const Place& place);
  // Whether a node may have died of the next entry: its predecessor has
  // executed it, and this one is to take over what that holds.
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
  DeadlyEntries* const deadly_;
  Outbox* const outbox_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_EXECUTION_H_
