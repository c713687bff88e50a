// The parts of a chain node through which a log entry goes.
#ifndef KAMINO_REPLICA_LOG_PARTS_H_
#define KAMINO_REPLICA_LOG_PARTS_H_

#include "replica/catch_up_history.h"
#include "replica/chain_context.h"
#include "replica/chain_execution.h"
#include "replica/chain_parts.h"
#include "replica/chain_progress.h"
#include "replica/entry_repair.h"

namespace kamino::replica {

// They are constructed in this order.
struct LogParts {
  // All pointers, `chain` and what it points to must outlive the parts.
  LogParts(const ChainContext& chain, LinkParts* links, DataParts* data)
      : history(*chain.options, chain.ring, chain.copy),
        progress(chain, links, data, &history),
        execution(chain, &links->donor, data, &progress),
        repair(chain, links, data, &progress, &execution) {}

  CatchUpHistory history;
  ChainProgress progress;
  ChainExecution execution;
  EntryRepair repair;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LOG_PARTS_H_
