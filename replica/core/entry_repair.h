// Repairs log entries that this node does not simply execute: those that a
// restart interrupted, those that are quarantined, and a diverging one that
// must be rolled back. The neighbours' data (NeighbourRepair) or the entries'
// after-images (RollForward) repair them; then this class applies, executes or
// drops them.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_CORE_ENTRY_REPAIR_H_
#define KAMINO_REPLICA_CORE_ENTRY_REPAIR_H_

#include <cstdint>

#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "replica/core/chain_execution.h"
#include "replica/core/chain_parts.h"
#include "replica/core/chain_progress.h"
#include "replica/link/chain_actions.h"
#include "replica/link/chain_context.h"
#include "replica/repair/neighbour_repair.h"
#include "replica/repair/roll_forward.h"
#include "replica/state/executor.h"

namespace kamino::replica {

class EntryRepair {
 public:
  // `chain` and all pointers must outlive it.
  EntryRepair(const ChainContext& chain, LinkParts* links, DataParts* data,
              ChainProgress* progress, ChainExecution* execution)
      : chain_(chain),
        links_(links),
        data_(data),
        progress_(progress),
        execution_(execution),
        roll_forward_(chain.ring, chain.executor) {}

  // The process has started, and has no view yet: rolls interrupted entries
  // forward by their after-images, or discards a state that cannot be repaired.
  // The other entries wait for a neighbour.
  void OnRestart();

  // Asks the neighbour behind `link` for everything that must be repaired.
  void Begin(LinkId link, RepairDirection direction, absl::Time now);
  void OnFetched(LinkId link, const kamino::internal::v1::Fetched& fetched,
                 absl::Time now);
  // Takes over the result of quarantined entries, if they are next and that is
  // possible now.
  void AdoptQuarantined(absl::Time now);
  // The entries to adopt are complete, and are executed like others.
  void ExecuteAdopted();
  // At a head with a divergence whose entry is not whole: rolls it back, if
  // that is possible now.
  void RollBackDivergence(absl::Time now);

  // The successor holds the state before the torn entry.
  bool MayRollBack() const;
  // This process crashed on the next entry once while executing it again.
  bool CrashedOnNext() const;
  // Drops the received entries that are not executed.
  void DropInterrupted();

 private:
  void Continue(NeighbourRepair::Repaired repaired);
  void AdoptImages();
  // Rolls entries forward up to there by their after-images and marks them
  // applied, durably; a failure stops the node.
  void ApplyImages(uint64_t last, bool interrupted);

  const ChainContext& chain_;
  LinkParts* const links_;
  DataParts* const data_;
  ChainProgress* const progress_;
  ChainExecution* const execution_;
  RollForward roll_forward_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CORE_ENTRY_REPAIR_H_
