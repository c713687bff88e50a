// The parts of a chain node in two groups: those that have the links to other
// nodes, and those that know the state of this node's data.
#ifndef KAMINO_REPLICA_CHAIN_PARTS_H_
#define KAMINO_REPLICA_CHAIN_PARTS_H_

#include "replica/announcements.h"
#include "replica/arbitration.h"
#include "replica/chain_actions.h"
#include "replica/chain_context.h"
#include "replica/completions.h"
#include "replica/damage.h"
#include "replica/dispute.h"
#include "replica/disputed_result.h"
#include "replica/donor.h"
#include "replica/downstream.h"
#include "replica/joiner.h"
#include "replica/mending.h"
#include "replica/quarantined_entries.h"
#include "replica/returning.h"
#include "replica/scrub.h"
#include "replica/scrub_exchange.h"
#include "replica/scrubbed_heap.h"
#include "replica/soundness.h"
#include "replica/upstream.h"

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

// The state of this node's data: doubts about it, votes, repairs.
struct DataParts {
  // All pointers, `chain` and what it points to must outlive the parts. If
  // `scrubbed` is null, the node takes no part in scrubs.
  DataParts(const ChainContext& chain, LinkParts* links,
            ScrubbedHeap* scrubbed);

  // The heap has been given up, or receives another state: no entry in the ring
  // is interrupted or quarantined any more.
  void ForgetInterrupted();

  Returning returning;
  Mending mending;
  MendingSource mending_source;
  QuarantinedEntries quarantined;
  Dispute dispute;
  DisputedResult disputed_result;
  Damage damage;
  Scrub scrub;
  ScrubExchange scrub_exchange;
  Arbitration arbitration;
  Soundness soundness;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CHAIN_PARTS_H_
