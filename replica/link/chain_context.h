// The data that all parts of a chain node use.
#ifndef KAMINO_REPLICA_LINK_CHAIN_CONTEXT_H_
#define KAMINO_REPLICA_LINK_CHAIN_CONTEXT_H_

#include "replica/link/chain_options.h"
#include "replica/link/downstream.h"
#include "replica/link/outbox.h"
#include "replica/link/place.h"
#include "replica/link/upstream.h"
#include "replica/log/log_ring.h"
#include "replica/log/node_record.h"
#include "replica/state/executor.h"
#include "replica/state/state_copy.h"

namespace kamino::replica {

// The pointers outlive the parts.
struct ChainContext {
  const ChainOptions* options;
  const Place* place;
  LogRing* ring;
  NodeRecord* record;
  Executor* executor;
  StateCopy* copy;
  Outbox* outbox;
  TransferStats* stats;
};

// The links to the neighbours in the chain; they outlive the parts.
struct Neighbours {
  Upstream* upstream;
  Downstream* downstream;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_CHAIN_CONTEXT_H_
