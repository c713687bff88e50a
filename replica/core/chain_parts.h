// The parts of a chain node in two groups: those that have the links to other
// nodes, and those that know the state of this node's data.
#ifndef KAMINO_REPLICA_CORE_CHAIN_PARTS_H_
#define KAMINO_REPLICA_CORE_CHAIN_PARTS_H_

#include "replica/integrity/arbitration.h"
#include "replica/integrity/damage.h"
#include "replica/integrity/divergence.h"
#include "replica/integrity/divergent_result.h"
#include "replica/integrity/scrub.h"
#include "replica/integrity/scrub_exchange.h"
#include "replica/integrity/soundness.h"
#include "replica/link/announcements.h"
#include "replica/link/chain_actions.h"
#include "replica/link/chain_context.h"
#include "replica/link/completions.h"
#include "replica/link/downstream.h"
#include "replica/link/upstream.h"
#include "replica/log/quarantined_entries.h"
#include "replica/repair/donor.h"
#include "replica/repair/joiner.h"
#include "replica/repair/neighbour_repair.h"
#include "replica/repair/returning.h"
#include "replica/state/scrubbed_heap.h"

namespace kamino::replica {

// In both groups the parts are constructed in the order of the fields.

// The links to other nodes. Each part sends and receives on one of them.
struct LinkParts {
  // `chain` and what it points to must outlive the parts.
  explicit LinkParts(const ChainContext& chain);

  // Tells the node behind `link` where to resume, and adds the announcement
  // that this node remembers. `behind`: as in Sync.
  void SendSync(LinkId link, bool behind);

  Upstream upstream;
  Downstream downstream;
  Completions completions;
  Announcements announcements;
  Joiner joiner;
  Donor donor;
};

// The state of this node's data: suspected damage, votes and repairs.
struct DataParts {
  // All pointers, `chain` and what it points to must outlive the parts. If
  // `scrubbed` is null, the node takes no part in scrubs.
  DataParts(const ChainContext& chain, LinkParts* links,
            ScrubbedHeap* scrubbed);

  // The heap has been given up, or receives another state: no entry in the ring
  // is interrupted or quarantined any more.
  void ForgetInterrupted();

  Returning returning;
  NeighbourRepair neighbour_repair;
  RepairSource repair_source;
  QuarantinedEntries quarantined;
  Divergence divergence;
  DivergentResult divergent_result;
  Damage damage;
  Scrub scrub;
  ScrubExchange scrub_exchange;
  Arbitration arbitration;
  Soundness soundness;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CORE_CHAIN_PARTS_H_
