// Executes the chain's operations on a node's heap, in place, with the ring
// entry as the only intent log (Kamino-Tx, section 5.1).
#ifndef KAMINO_REPLICA_HEAP_EXECUTOR_H_
#define KAMINO_REPLICA_HEAP_EXECUTOR_H_

#include "engine/heap/heap.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/executor.h"
#include "replica/mender.h"
#include "replica/state_machine.h"

namespace kamino::replica {

// The write set as it travels.
void EncodeWriteSet(const engine::WriteSet& write_set,
                    kamino::internal::v1::ChainOperation* operation);
// kDataLoss: an intent kind that does not exist.
absl::StatusOr<engine::WriteSet> DecodeWriteSet(
    const kamino::internal::v1::ChainOperation& operation);

// Parses a ring entry. kDataLoss when it is none.
absl::StatusOr<kamino::internal::v1::ChainOperation> ParseOperation(
    absl::string_view bytes);

class HeapExecutor : public Executor {
 public:
  // Both must outlive this.
  HeapExecutor(engine::Heap* heap, StateMachine* state)
      : heap_(heap), state_(state), mender_(heap) {}

  absl::Status Execute(uint64_t first, uint32_t count,
                       absl::string_view operation) override;
  absl::StatusOr<engine::WriteSet> WriteSetOf(
      absl::string_view operation) override;
  absl::Status ReadIntent(const engine::Intent& intent,
                          std::string* bytes) override;
  absl::Status BeginMending(const engine::WriteSet& intents) override;
  absl::Status MendIntent(const engine::Intent& intent, absl::string_view bytes,
                          Mend mend) override;
  void EndMending() override;

 private:
  engine::Heap* const heap_;
  StateMachine* const state_;
  Mender mender_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_HEAP_EXECUTOR_H_
