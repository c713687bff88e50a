// REWIND (Chatzistergiou, Cintra and Viglas, VLDB 2015) on Kamino's heap: a
// physical log of updates in persistent memory, and stores in place.
//
// There are twelve configurations (RewindOptions). With force, the stores of a
// transaction are durable before its end is logged, and its records go with it.
// Without force, the end alone commits it: recovery repeats its stores, until a
// checkpoint has made them durable and removes its records.
//
// Invariants:
//   1. A range's old bytes are durably logged before it is stored to. With
//      form batch, bytes given to Overwrite wait in memory until a group of
//      them is logged, or a caller reads them.
//   2. When Commit returns, the transaction's end is durable; with force its
//      stores are, without it their records are.
//   3. A block that is freed, or whose header was logged by a transaction that
//      was rolled back, is used again only when no record names it any more.
//
// before_mark is called when all records are durable; with force, all stores.
#ifndef KAMINO_LAB_REWIND_REWIND_STORE_H_
#define KAMINO_LAB_REWIND_REWIND_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/baselines/baseline_transaction.h"
#include "engine/heap/heap.h"
#include "engine/transactional_store.h"
#include "lab/rewind/rewind_log.h"
#include "lab/rewind/rewind_options.h"

namespace kamino::engine {

// Thread-safe, but a Transaction is one thread's.
class RewindStore final : public TransactionalStore {
 public:
  // Rolls back or completes what a crash left, then loads the heap, which must
  // outlive the store. A log of an earlier release becomes one of this.
  // kInvalidArgument: options out of bounds, or the heap's log area is too
  // small for them. kFailedPrecondition: the heap's label is not
  // options.Name(), or the log is of a later release; kDataLoss: log or heap
  // are damaged.
  static absl::StatusOr<std::unique_ptr<RewindStore>> Open(
      const RewindOptions& options, Heap* heap);

  // No transaction may be live.
  ~RewindStore() override;

  absl::string_view scheme() const override { return name_; }
  std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) override;
  ObjectId root() const override { return heap_->root(); }
  void Quiesce() override { Checkpoint(); }
  RecoveryReport recovery_report() const override { return report_; }
  uint64_t bytes_used() const override;

  // Where records of finished transactions are kept: makes what those have
  // stored durable, and gives back what the records take. Others may be live.
  // Whether there were any.
  bool Checkpoint();
  // Whether so much is in the log that one is due.
  bool WantsCheckpoint() const;

  // For a StoreWorker: makes one that is due.
  static constexpr char kWorkerName[] = "rewind-worker";
  bool WorkBeside();

  // Blocks that are taken and are no objects: the log's.
  size_t log_blocks() const { return log_.blocks(); }
  Heap* heap() const { return heap_; }

 private:
  friend class RewindTransaction;

  RewindStore(const RewindOptions& options, Heap* heap);

  const RewindOptions options_;
  const std::string name_;
  Heap* const heap_;
  RewindLog log_;
  ObjectLocks locks_;
  RecoveryReport report_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_REWIND_STORE_H_
