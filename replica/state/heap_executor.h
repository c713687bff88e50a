// Executes the chain's log entries on a node's heap, in place, with the ring
// entry as the only intent log (Kamino-Tx, section 5.1).
#ifndef KAMINO_REPLICA_STATE_HEAP_EXECUTOR_H_
#define KAMINO_REPLICA_STATE_HEAP_EXECUTOR_H_

#include <vector>

#include "engine/heap/heap.h"
#include "engine/heap/open_snapshots.h"
#include "replica/state/executor.h"
#include "replica/state/local_undo.h"
#include "replica/state/object_repair.h"
#include "replica/state/scrubbed_heap.h"
#include "replica/state/state_machine.h"

namespace kamino::replica {

class HeapExecutor : public Executor {
 public:
  // All must outlive this. `scrubbed` and `snapshots` are notified of changes
  // and may be null. `undo`: null if this node rolls nothing back by itself.
  HeapExecutor(engine::Heap* heap, StateMachine* state,
               ScrubbedHeap* scrubbed = nullptr,
               LocalUndoSource* undo = nullptr,
               engine::OpenSnapshots* snapshots = nullptr)
      : heap_(heap),
        state_(state),
        scrubbed_(scrubbed),
        undo_(undo),
        snapshots_(snapshots),
        object_repair_(heap) {}

  absl::StatusOr<uint64_t> Execute(const LogEntry& entry) override;
  absl::StatusOr<uint64_t> Try(const LogEntry& entry) override;
  absl::StatusOr<uint64_t> HashImage(const LogEntry& entry) override;
  absl::StatusOr<absl::string_view> ImageOf(
      const engine::Intent& intent) override;
  absl::Status RollBack() override;
  absl::Status ReadIntent(const engine::Intent& intent,
                          std::string* bytes) override;
  absl::Status BeginRepair(const engine::WriteSet& intents,
                           bool interrupted) override;
  absl::Status RepairIntent(const engine::Intent& intent,
                            absl::string_view bytes,
                            RepairDirection direction) override;
  void EndRepair(bool confirmed) override;

 private:
  template <typename Transaction>
  absl::StatusOr<uint64_t> Run(const LogEntry& entry, bool trial);
  absl::Status PrepareRollBack(const LogEntry& entry,
                               const engine::WriteSet& write_set);
  void BeforeChanges(const engine::WriteSet& write_set);

  engine::Heap* const heap_;
  StateMachine* const state_;
  ScrubbedHeap* const scrubbed_;
  LocalUndoSource* const undo_;
  engine::OpenSnapshots* const snapshots_;
  ObjectRepair object_repair_;
  std::vector<engine::ObjectId> repaired_;  // repaired since BeginRepair
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_HEAP_EXECUTOR_H_
