// Executes the entries that this node has received, and stops at one whose
// result differs from the head's: that is a divergence
// (replica/integrity/divergence.h).
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_CORE_CHAIN_EXECUTION_H_
#define KAMINO_REPLICA_CORE_CHAIN_EXECUTION_H_

#include "absl/time/time.h"
#include "replica/core/chain_parts.h"
#include "replica/core/chain_progress.h"
#include "replica/core/execution.h"
#include "replica/link/chain_context.h"
#include "replica/repair/donor.h"

namespace kamino::replica {

class ChainExecution {
 public:
  // `chain` and all pointers must outlive it.
  ChainExecution(const ChainContext& chain, Donor* donor, DataParts* data,
                 ChainProgress* progress);

  // Does nothing while the heap is torn or a divergence is open.
  void ExecuteReceived();
  // Whether the next entry must be adopted, and could be now.
  bool AwaitsAdoption() const;
  // Takes the next step of an open divergence. EntryRepair::RollBackDivergence
  // rolls back a head's incomplete result.
  void ContinueDivergence(absl::Time now);

 private:
  // Begins the divergence. A head also ends it at once, because no node before
  // it has another result.
  void OnDissent(const Execution::Dissent& dissent);
  // At a head: its own result counts, and execution continues after it. (Not in
  // ViewChange, which executes what follows.)
  void KeepOwnResult();

  const ChainContext& chain_;
  Donor* const donor_;
  DataParts* const data_;
  ChainProgress* const progress_;
  Execution execution_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CORE_CHAIN_EXECUTION_H_
