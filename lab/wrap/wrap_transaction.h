// A transaction of a WrapStore: a wrap (WrAP, section 3, Algorithm 1). Private
// to the store.
#ifndef KAMINO_LAB_WRAP_WRAP_TRANSACTION_H_
#define KAMINO_LAB_WRAP_WRAP_TRANSACTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/baselines/baseline_transaction.h"
#include "engine/baselines/declared_ranges.h"
#include "lab/wrap/wrap_log.h"
#include "lab/wrap/wrap_store.h"

namespace kamino::engine {

class WrapTransaction final : public BaselineTransaction {
 public:
  WrapTransaction(WrapStore* store, absl::Duration lock_wait)
      : BaselineTransaction(&store->locks_, lock_wait), store_(store) {}
  ~WrapTransaction() override { AbortIfLive(); }

 private:
  // Bytes of an object whose old ones are in before_.
  struct Range {
    size_t object = 0;  // in held()
    uint32_t offset = 0;
    uint32_t length = 0;
    // Stored to through a pointer, or over what the log has: what it holds at
    // the commit is to be logged.
    bool open = false;
    size_t before = 0;  // where its old bytes are in before_
  };

  ObjectId root() const override { return heap().root(); }
  void PrefetchPayload(ObjectId id) const override { heap().Prefetch(id, 0); }
  absl::StatusOr<absl::Span<std::byte>> Find(ObjectId id) override {
    return heap().Payload(id);
  }
  absl::StatusOr<std::byte*> DeclareWrite(HeldObject& held, uint32_t offset,
                                          uint32_t length) override;
  absl::Status DeclareWrites(absl::Span<const Intent> writes) override;
  absl::Status Put(HeldObject& held, uint32_t offset,
                   absl::Span<const std::byte> bytes) override;
  absl::StatusOr<NewObject> Take(uint32_t size) override;
  void PutBack(ObjectId id) override { heap().Release(id); }
  absl::Status DeclareAlloc(HeldObject&) override;
  absl::Status DeclareFree(HeldObject&) override;
  absl::Status MakeDurable(const CommitOptions& options) override;
  absl::Status RollBack() override;
  void ReleaseSpace(bool committed) override;

  void AddRange(const HeldObject& held, uint32_t offset, uint32_t length,
                bool open);
  absl::Status Log(const HeldObject& object, uint32_t offset,
                   absl::Span<const std::byte> bytes);
  // Appends what the wrap lacks at the commit.
  absl::Status LogOpenRanges();
  absl::Status LogNewObjects();
  absl::Status LogStates();
  // Headers, in the view.
  void StoreStates();

  Heap& heap() const { return *store_->heap_; }

  WrapStore* const store_;
  Wrap wrap_;
  DeclaredRanges<Range> ranges_;
  std::vector<std::byte> before_;  // old bytes of all ranges
  bool states_change_ = false;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_WRAP_WRAP_TRANSACTION_H_
