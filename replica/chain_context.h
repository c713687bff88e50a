// The data that all parts of a chain node use.
#ifndef KAMINO_REPLICA_CHAIN_CONTEXT_H_
#define KAMINO_REPLICA_CHAIN_CONTEXT_H_

#include "replica/chain_options.h"
#include "replica/downstream.h"
#include "replica/executor.h"
#include "replica/log_ring.h"
#include "replica/node_record.h"
#include "replica/outbox.h"
#include "replica/place.h"
#include "replica/state_copy.h"
#include "replica/upstream.h"

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

#endif  // KAMINO_REPLICA_CHAIN_CONTEXT_H_
