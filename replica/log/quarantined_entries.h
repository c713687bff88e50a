// Quarantined log entries: entries on which a node may have crashed.
//
// A node that crashes while it executes an entry has it in its ring. After its
// restart its predecessor repairs it, and the entry is not executed there
// again. But two other nodes would execute it:
//   - the next node that receives the entry, as the successor of the restarted
//     node or in its place. So entries that were on their way to a lost
//     process, or were interrupted there, are flagged when they are sent on:
//     the receiver takes over the sender's result;
//   - a node that was interrupted and is head now. Its successor rolls it back,
//     and it executes the entry again (Kamino-Tx, section 5.3); before that it
//     records this. If it crashes again, it drops the entry after its restart:
//     no node behind it can have it, and no client has an answer.
// A node with a divergence (replica/integrity/divergence.h) has survived the
// entry, and tells its predecessor: nothing on its way to such a node is
// flagged.
//
// Entries that were taken over are in flight, like interrupted ones (invariant
// 4 of replica/core/chain_core.h): they share no object with later entries. If
// two entries do share one, the earlier is complete, and was executed.
//
// If entries carry after-images, the receiver needs only its own ring to take
// one over, and a head that crashed on one rolls it forward after its restart:
// it drops nothing.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_LOG_QUARANTINED_ENTRIES_H_
#define KAMINO_REPLICA_LOG_QUARANTINED_ENTRIES_H_

#include <cstdint>

#include "base/chain_mode.h"
#include "replica/log/log_entry.h"
#include "replica/log/log_ring.h"
#include "replica/log/node_record.h"

namespace kamino::replica {

// Entries (after, last] on which a node may have crashed.
struct QuarantinedRange {
  uint64_t after = 0;
  uint64_t last = 0;

  bool Has(const LogEntry& entry) const {
    return entry.first() > after && entry.last() <= last;
  }
};

class QuarantinedEntries {
 public:
  // Both pointers must outlive it.
  QuarantinedEntries(ChainMode mode, const LogRing* ring, NodeRecord* record)
      : mode_(mode), ring_(ring), record_(record) {}

  // Adds entries (after, last]: a node may have crashed on them. No node has
  // crashed on those up to `complete`: all have applied them. Does nothing in a
  // mode whose nodes roll back by themselves.
  void Note(uint64_t after, uint64_t last, uint64_t complete);
  // Whether this node must take the received entry over instead of executing
  // it.
  bool Has(const LogEntry& entry) const;
  // The entries that are flagged when they are sent on.
  QuarantinedRange Beyond(uint64_t complete) const;
  // Entries up to here that this node has not applied are complete, because a
  // later one shares an object with them.
  uint64_t CompleteAsShared() const;
  // Entries up to there are executed like others.
  void Pass(uint64_t complete);
  // Everything up to there is complete.
  void OnComplete(uint64_t complete);
  void Forget() { range_ = {}; }

  // The entry that this node executes again as head; 0: none. Durable on
  // return.
  void SetRedone(uint64_t first);
  uint64_t redone() const { return record_->state().redone; }

 private:
  const ChainMode mode_;
  const LogRing* const ring_;
  NodeRecord* const record_;
  QuarantinedRange range_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LOG_QUARANTINED_ENTRIES_H_
