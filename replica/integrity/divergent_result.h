// This node's result of a diverging entry: it survives a restart, and then
// counts if this node becomes head, or is rolled back by the successor's data
// and dropped.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_INTEGRITY_DIVERGENT_RESULT_H_
#define KAMINO_REPLICA_INTEGRITY_DIVERGENT_RESULT_H_

#include "absl/status/status.h"
#include "replica/integrity/divergence.h"
#include "replica/link/chain_context.h"
#include "replica/link/chain_options.h"
#include "replica/link/outbox.h"
#include "replica/link/place.h"
#include "replica/log/log_ring.h"
#include "replica/log/node_record.h"
#include "replica/repair/neighbour_repair.h"
#include "replica/state/executor.h"
#include "replica/state/state_copy.h"

namespace kamino::replica {

class DivergentResult {
 public:
  // All pointers must outlive it.
  DivergentResult(const ChainContext& chain, NeighbourRepair* neighbour_repair,
                  Divergence* divergence)
      : options_(*chain.options),
        place_(chain.place),
        ring_(chain.ring),
        record_(chain.record),
        executor_(chain.executor),
        copy_(chain.copy),
        neighbour_repair_(neighbour_repair),
        divergence_(divergence),
        outbox_(chain.outbox) {}

  // After a restart, before any view: resumes the divergence that the record
  // names.
  void Resume();
  // The record names an entry that the ring does not have.
  bool lost() const { return record_->state().disputed != 0 && !open(); }
  absl::Status Lost() const;
  // No diverging entry has left the heap torn.
  bool whole() const {
    return record_->state().disputed == 0 ||
           (open() && (divergence_->whole() || RollsBackAlone(options_.mode)));
  }

  // Both only while the divergence is open. This node is head now: its own
  // result counts. Without a result the entry must be rolled back. Does nothing
  // while the ring has no room for it.
  void Keep();
  // It was rolled back: no client has an answer, and the client asks again.
  void Drop();

 private:
  bool open() const { return divergence_->open(); }
  void RollBack();
  // The entry in the ring, with this node's image of it.
  absl::Status Replace();
  // Adds to the image the bytes that this node has stored in allocations beyond
  // those of the head. The draft is of that image.
  absl::Status CoverOwn(const engine::WriteSet& write_set,
                        const LogEntryDraft& draft, engine::AfterImage* image);

  const ChainOptions& options_;
  const Place* const place_;
  LogRing* const ring_;
  const NodeRecord* const record_;
  Executor* const executor_;
  StateCopy* const copy_;
  NeighbourRepair* const neighbour_repair_;
  Divergence* const divergence_;
  Outbox* const outbox_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_INTEGRITY_DIVERGENT_RESULT_H_
