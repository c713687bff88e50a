// The common part of the baselines on Kamino's own heap. Only how they make a
// transaction atomic differs, so a comparison compares that.
#ifndef KAMINO_ENGINE_BASELINES_HEAP_STORE_H_
#define KAMINO_ENGINE_BASELINES_HEAP_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/baselines/baseline_transaction.h"
#include "engine/baselines/declared_ranges.h"
#include "engine/baselines/log_slot.h"
#include "engine/baselines/transaction_log.h"
#include "engine/heap/heap.h"
#include "engine/transactional_store.h"

namespace kamino::engine {

enum class HeapScheme {
  // "undo-own": before a range is stored to, its bytes are copied to the log,
  // for one drain; a covered range costs none. At commit what was stored is
  // flushed and drained, then the log retired: two drains more.
  kUndo,
  // "cow": the first Write copies the object into DRAM, where it is changed; a
  // Read before it keeps showing the old bytes. At commit the changed ranges
  // and the mark go to the log, for one drain (two when something is allocated
  // or freed), then to their places, for one, then the log is retired, for one.
  kCopyOnWrite,
  // "unsafe": stores in place, flushed and drained at commit once. Neither
  // Abort nor a recovery takes them back, but what an aborted transaction
  // allocated or freed is as before. The limit of what a scheme can reach.
  kUnsafe,

  // Rivals of papers, which SchemeNames() leaves out:

  // "unsafe-each": as unsafe, but every Overwrite is durable before it returns,
  // and at commit every range, object and header by a drain of its own
  // (Chatzistergiou et al., VLDB 2015, section 5: a store to persistent memory
  // without a log).
  kUnsafeEach,
  // "cached": stores in place, and nothing is ever flushed. What the memory
  // could do if it were not persistent.
  kCached,
  // "undo-each": as undo-own, but every store is durable by a drain of its own,
  // as its old bytes are (Doshi et al., section 4: the undo log). A weak rival.
  kUndoEach,
};

absl::string_view HeapSchemeName(HeapScheme scheme);
// Nothing: it is none of these.
std::optional<HeapScheme> HeapSchemeNamed(absl::string_view name);
// Whether Abort and recovery roll a transaction back.
bool IsAtomic(HeapScheme scheme);

// Thread-safe, but a Transaction is one thread's. At most 64 transactions that
// have changed something may be live.
//
// before_mark is called when every store is durable. Exceptions: with cow the
// log has the bytes, and nothing is in its place yet; unsafe and unsafe-each
// store headers afterwards; with cached nothing ever is.
class HeapStore final : public TransactionalStore {
 public:
  // Rolls back or completes what a crash left, then loads the heap, which must
  // outlive the store. Repeating it after a crash on the way has the same
  // result. kFailedPrecondition: the heap's label is not the scheme's name;
  // kDataLoss: log or heap are damaged.
  static absl::StatusOr<std::unique_ptr<HeapStore>> Open(HeapScheme scheme,
                                                         Heap* heap);

  absl::string_view scheme() const override { return HeapSchemeName(scheme_); }
  std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) override;
  ObjectId root() const override { return heap_->root(); }
  void Quiesce() override {}  // nothing is left to do after an end
  uint64_t bytes_used() const override;
  RecoveryReport recovery_report() const override { return report_; }

  Heap* heap() const { return heap_; }

 private:
  friend class HeapTransaction;

  HeapStore(HeapScheme scheme, Heap* heap);
  absl::Status Recover();
  absl::Status RollForward(const TransactionLog::Contents& contents) const;

  const HeapScheme scheme_;
  Heap* const heap_;
  TransactionLog log_;
  ObjectLocks locks_;
  RecoveryReport report_;
};

// Takes everything back that the records say, in reverse order; flushes.
absl::Status RollBack(const TransactionLog& log,
                      const TransactionLog::Contents& contents);

// Private to the store.
class HeapTransaction : public BaselineTransaction {
 protected:
  HeapTransaction(HeapStore* store, absl::Duration lock_wait)
      : BaselineTransaction(&store->locks_, lock_wait),
        store_(store),
        drains_each_(store->scheme_ == HeapScheme::kUnsafeEach ||
                     store->scheme_ == HeapScheme::kUndoEach),
        slot_(&store->log_, store->heap_->region()) {}

  // A declared range of an object.
  struct Range {
    size_t object = 0;  // in held()
    uint32_t offset = 0;
    uint32_t length = 0;
    bool flushed = false;  // and not stored to since
  };

  Range* Covering(const HeldObject& held, uint32_t offset, uint32_t length) {
    return ranges_.Covering(this->held().IndexOf(held), offset, length);
  }
  void AddRange(const HeldObject& held, uint32_t offset, uint32_t length,
                bool flushed);

  ObjectId root() const final { return store_->root(); }
  void PrefetchPayload(ObjectId id) const final {
    store_->heap_->Prefetch(id, 0);
  }

  // Flushes what was stored in place, except in objects that are freed.
  void FlushRanges();
  void FlushAllocated();
  // Headers of what was allocated or freed, not both; flushed.
  void MarkStates();
  // The same, and not flushed.
  void StoreStates();
  // Where each store has a drain of its own. Those that flush more call it.
  void DrainIfEach() {
    if (drains_each_) region().Drain();
  }
  bool drains_each() const { return drains_each_; }
  HeapScheme kind() const { return store_->scheme_; }
  // Whether there are any.
  bool states_change() const { return states_change_; }

  Heap& heap() const { return *store_->heap_; }
  Region& region() const { return *store_->heap_->region(); }
  TransactionLog& log() const { return store_->log_; }
  LogSlot& slot() { return slot_; }

  DeclaredRanges<Range>& ranges() { return ranges_; }

 private:
  absl::StatusOr<absl::Span<std::byte>> Find(ObjectId id) final;
  absl::StatusOr<NewObject> Take(uint32_t size) final;
  void PutBack(ObjectId id) final;
  absl::Status DeclareAlloc(HeldObject& held) final;
  absl::Status DeclareFree(HeldObject& held) final;
  void ReleaseSpace(bool committed) final;

  // kAlloc and kFree.
  virtual absl::Status LogState(const Intent& intent) = 0;

  HeapStore* const store_;
  const bool drains_each_;
  LogSlot slot_;
  DeclaredRanges<Range> ranges_;
  bool states_change_ = false;
};

// Transactions of undo and undo-each, of cow, and of schemes without a log.
std::unique_ptr<Transaction> MakeUndoTransaction(HeapStore* store,
                                                 absl::Duration lock_wait);
std::unique_ptr<Transaction> MakeCowTransaction(HeapStore* store,
                                                absl::Duration lock_wait);
std::unique_ptr<Transaction> MakeUnsafeTransaction(HeapStore* store,
                                                   absl::Duration lock_wait);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_HEAP_STORE_H_
