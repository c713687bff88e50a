// A transaction of an ArchaptStore. Private to it.
#ifndef KAMINO_LAB_ARCHAPT_ARCHAPT_TRANSACTION_H_
#define KAMINO_LAB_ARCHAPT_ARCHAPT_TRANSACTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/baselines/baseline_transaction.h"
#include "engine/baselines/declared_ranges.h"
#include "lab/archapt/archapt_store.h"
#include "lab/archapt/undo_ring.h"

namespace kamino::engine {

class ArchaptTransaction final : public BaselineTransaction {
 public:
  ArchaptTransaction(ArchaptStore* store, absl::Duration lock_wait)
      : BaselineTransaction(&store->locks_, lock_wait), store_(store) {}
  ~ArchaptTransaction() override { AbortIfLive(); }

 private:
  // Bytes of an object whose old ones are in the log.
  struct Range {
    size_t object = 0;  // in held()
    uint32_t offset = 0;
    uint32_t length = 0;
  };

  ObjectId root() const override { return heap().root(); }
  void PrefetchPayload(ObjectId id) const override { heap().Prefetch(id, 0); }
  absl::StatusOr<absl::Span<std::byte>> Find(ObjectId id) override {
    return heap().Payload(id);
  }
  absl::StatusOr<absl::Span<const std::byte>> Show(HeldObject& held) override;
  absl::StatusOr<std::byte*> DeclareWrite(HeldObject& held, uint32_t offset,
                                          uint32_t length) override;
  absl::Status DeclareWrites(absl::Span<const Intent> writes) override;
  absl::StatusOr<NewObject> Take(uint32_t size) override;
  void PutBack(ObjectId id) override { heap().Release(id); }
  absl::Status DeclareAlloc(HeldObject&) override;
  absl::Status DeclareFree(HeldObject& held) override;
  absl::Status MakeDurable(const CommitOptions& options) override;
  absl::Status TakeBack() override;
  void ReleaseSpace(bool committed) override;

  // Prepares an object for a change after which the old bytes of `logged` are
  // in the log: no other transaction's flush of it remains, except for what
  // this one then owes, and it is in no matrix.
  void Claim(HeldObject& held, const LineRange& logged);
  // Durably; again when there is more room. Nothing is owed then.
  absl::Status Append(absl::Span<const UndoDraft> drafts);
  absl::Status LogHeaders();
  // Lists the ranges that this transaction has stored to.
  void ListWritten(LogicalCommit* commit);
  void FlushAll(LogicalCommit* commit);
  absl::Status EndReading(const CommitOptions& options);
  // Makes the flushes durable that others wait for, and those that it owes.
  void FinishFlushes();

  Heap& heap() const { return *store_->heap_; }
  Region& region() const { return *store_->region_; }

  ArchaptStore* const store_;
  OwnUndo own_;
  DeclaredRanges<Range> ranges_;
  Unsettled unsettled_;
  bool states_change_ = false;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_ARCHAPT_TRANSACTION_H_
