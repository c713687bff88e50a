// The parts of a chain node through which a log entry goes.
#ifndef KAMINO_REPLICA_CORE_LOG_PARTS_H_
#define KAMINO_REPLICA_CORE_LOG_PARTS_H_

#include "replica/core/chain_execution.h"
#include "replica/core/chain_parts.h"
#include "replica/core/chain_progress.h"
#include "replica/core/entry_repair.h"
#include "replica/link/chain_context.h"
#include "replica/repair/catch_up_history.h"

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

#endif  // KAMINO_REPLICA_CORE_LOG_PARTS_H_
