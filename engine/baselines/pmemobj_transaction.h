// A transaction of a PmemobjStore; private to it. See engine/transaction.h.
#ifndef KAMINO_ENGINE_BASELINES_PMEMOBJ_TRANSACTION_H_
#define KAMINO_ENGINE_BASELINES_PMEMOBJ_TRANSACTION_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/baselines/baseline_transaction.h"
#include "engine/baselines/pmemobj_store.h"

struct pmemoid;

namespace kamino::engine {

// libpmemobj's own transaction begins with the first change, and never ends by
// itself: every call that may fail is told not to abort. It is tied to the
// thread.
//
// libpmemobj gives space to other threads while it commits or aborts. So the
// locks of objects that are gone are released just before: the next transaction
// with that space must not find it locked. Other transactions cannot see a
// change by that, as the objects are not live.
class PmemobjTransaction final : public BaselineTransaction {
 public:
  PmemobjTransaction(PmemobjStore* store, absl::Duration lock_wait)
      : BaselineTransaction(&store->locks_, lock_wait), store_(store) {}
  ~PmemobjTransaction() override { AbortIfLive(); }

 private:
  ObjectId root() const override { return store_->root(); }
  void PrefetchPayload(ObjectId id) const override { store_->Prefetch(id); }
  absl::StatusOr<absl::Span<std::byte>> Find(ObjectId id) override;
  absl::StatusOr<std::byte*> DeclareWrite(HeldObject& held, uint32_t offset,
                                          uint32_t length) override;
  absl::StatusOr<NewObject> Take(uint32_t size) override;
  void PutBack(ObjectId id) override;
  absl::Status DeclareAlloc(HeldObject& held) override;
  // The object is freed at Commit, until when its lock keeps it.
  absl::Status DeclareFree(HeldObject& held) override;
  absl::Status MakeDurable(const CommitOptions& options) override;
  absl::Status RollBack() override;
  void ReleaseSpace(bool) override {}  // libpmemobj did

  pmemoid OidOf(ObjectId id) const;
  absl::Status EnsureBegun();
  absl::Status FreeObjects();
  void FlushAll();

  PmemobjStore* const store_;
  bool begun_ = false;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_PMEMOBJ_TRANSACTION_H_
