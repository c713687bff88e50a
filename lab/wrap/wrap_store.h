// WrAP (Doshi, Giles and Varman, "Atomic Persistence for SCM with a
// Non-intrusive Backend Controller") on kamino's heap: redo-only transactions
// that cost one drain, which a background thread brings home.
//
// The paper's controller keeps what caches evict in a volatile victim cache, so
// that only the log changes the medium. No stock processor does that: here a
// view in DRAM stands for caches and victim cache (ViewRegion), and the heap
// lies in it.
//
// Invariants:
//   1. Nothing stores to an object's place on the medium but what retires or
//      replays closed wraps.
//   2. When Commit returns, the wrap's records and marker are durable.
//   3. A block that is freed is used again only once the wrap has retired.
//
// before_mark is called when all records are durable.
#ifndef KAMINO_LAB_WRAP_WRAP_STORE_H_
#define KAMINO_LAB_WRAP_WRAP_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/baselines/baseline_transaction.h"
#include "engine/explore.h"
#include "engine/heap/heap.h"
#include "engine/transactional_store.h"
#include "lab/wrap/view_region.h"
#include "lab/wrap/wrap_format.h"
#include "lab/wrap/wrap_log.h"
#include "lab/wrap/wrap_options.h"

namespace kamino::engine {

// Thread-safe, but a Transaction is one thread's. Takes as much DRAM as the
// region is large, beside what bytes_used() says.
class WrapStore final : public TransactionalStore {
 public:
  // Makes the region, which must outlive the store, an empty heap.
  // kInvalidArgument: the region's, the log's or a bucket's size is not
  // possible, or log_wait is negative; kResourceExhausted: no memory.
  static absl::StatusOr<std::unique_ptr<WrapStore>> Create(
      Region* home, const WrapOptions& options = {});

  // Brings home what a crash left, then loads the heap. Errors: as Create's and
  // Heap::Open's; kFailedPrecondition: it is another scheme's heap; kDataLoss:
  // log or heap are damaged.
  static absl::StatusOr<std::unique_ptr<WrapStore>> Open(
      Region* home, const WrapOptions& options = {});

  // No transaction may be live.
  ~WrapStore() override;

  absl::string_view scheme() const override { return wrap_format::kLabel; }
  std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) override;
  ObjectId root() const override { return heap_->root(); }
  void Quiesce() override;
  RecoveryReport recovery_report() const override { return report_; }
  uint64_t bytes_used() const override;

  // Brings up to `most` closed wraps home, and gives back what they have freed.
  // Others may be live. Returns how many.
  size_t Retire(size_t most);
  // Whether so many wait that it ought to go on at once.
  bool WantsRetire() const { return log_.WantsRetire(); }

  // For a StoreWorker: retires what can.
  static constexpr char kWorkerName[] = "wrap-retirer";
  bool WorkBeside();

  // In the view.
  Heap* heap() const { return heap_.get(); }

 private:
  friend class WrapTransaction;

  WrapStore(const WrapLayout& layout, const WrapOptions& options)
      : log_(layout, options.log_wait) {}

  WrapLog log_;
  std::unique_ptr<ViewRegion> view_;
  std::unique_ptr<Heap> heap_;
  ObjectLocks locks_;
  RecoveryReport report_;

  // Held until what has retired is the allocator's, so that Quiesce waits for
  // that, too. Taken before the log's and the heap's.
  Mutex give_back_mutex_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_WRAP_WRAP_STORE_H_
