// Log entries that a node may have died of.
//
// A node that dies while it executes an entry has it in its ring. Once it is
// back, its predecessor mends it, and nobody executes it again there. But there
// are two who would:
//   - the next node that gets the entry, be it as the successor of the one that
//     came back, or in its place. So what was on its way to a node whose
//     process is gone, or was interrupted there, is flagged when it is sent on:
//     whoever gets it takes over what the sender holds of it;
//   - a node that was interrupted and is head now. It is rolled back by its
//     successor and executes it again (Kamino-Tx, section 5.3), and says so in
//     its record before. If it dies of that, it drops the entry once it is
//     back: nobody behind it can have it, and nobody was answered.
// A node that disputes an entry (replica/dispute.h) has outlived it, and tells
// its predecessor: nothing on its way to such a node is flagged.
//
// What was taken over is in flight, as what was interrupted is (invariant 4 of
// replica/chain_core.h): it shares no object with what comes after it. Where
// two entries do share one, the earlier is complete, and was executed.
//
// Where entries carry what they leave, who is to take one over has all it needs
// in its own ring, and a head that has died of one has rolled it forward when
// it is back: it drops nothing.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_DEADLY_ENTRIES_H_
#define KAMINO_REPLICA_DEADLY_ENTRIES_H_

#include <cstdint>

#include "replica/log_entry.h"
#include "replica/log_ring.h"
#include "replica/node_record.h"

namespace kamino::replica {

// Entries (after, last] that a node may have died of.
struct DeadlyRange {
  uint64_t after = 0;
  uint64_t last = 0;

  bool Has(const LogEntry& entry) const {
    return entry.first() > after && entry.last() <= last;
  }
};

class DeadlyEntries {
 public:
  // Both must outlive it.
  DeadlyEntries(const LogRing* ring, NodeRecord* record)
      : ring_(ring), record_(record) {}

  // A node may have died of entries (after, last], too. Nobody has died of
  // those up to `complete`: all have applied them.
  void Note(uint64_t after, uint64_t last, uint64_t complete);
  // What this node has received is to be taken over, not executed.
  bool Has(const LogEntry& entry) const;
  // Those that are flagged when they are sent on.
  DeadlyRange Beyond(uint64_t complete) const;
  // Up to here entries that this node has not applied are complete, as a later
  // one is of an object of theirs.
  uint64_t CompleteAsShared() const;
  // Those up to there are executed as any.
  void Pass(uint64_t complete);
  // Everything up to there is.
  void OnComplete(uint64_t complete);
  void Forget() { range_ = {}; }

  // The entry that this node, as head, executes again; 0: none. Durable on
  // return.
  void SetRedone(uint64_t first);
  uint64_t redone() const { return record_->state().redone; }

 private:
  const LogRing* const ring_;
  NodeRecord* const record_;
  DeadlyRange range_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_DEADLY_ENTRIES_H_
