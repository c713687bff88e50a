// A transaction of a KaminoStore; private to it. See engine/transaction.h.
#ifndef KAMINO_ENGINE_KAMINO_KAMINO_TRANSACTION_H_
#define KAMINO_ENGINE_KAMINO_KAMINO_TRANSACTION_H_

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "engine/kamino/kamino_store.h"
#include "engine/transaction.h"

namespace kamino::engine {

class KaminoTransaction final : public Transaction {
 public:
  KaminoTransaction(KaminoStore* store, LockTable::Owner owner,
                    absl::Duration lock_wait)
      : store_(store), owner_(owner), lock_wait_(lock_wait) {}
  ~KaminoTransaction() override;

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override;
  absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                   uint32_t length) override;
  absl::StatusOr<ObjectId> Alloc(uint32_t size) override;
  absl::Status Free(ObjectId id) override;
  using Transaction::Commit;
  absl::Status Commit(const CommitOptions& options) override;
  absl::Status Abort() override;
  const WriteSet& write_set() const override { return write_set_; }
  absl::optional<ObjectId> conflict() const override { return conflict_; }

 private:
  // What this transaction has done with an object it holds exclusively.
  struct Owned {
    bool allocated = false;
    bool freed = false;
    bool pinned = false;  // its copy in the backup
  };

  absl::Status LockShared(ObjectId id);
  // The object's entry in owned_, locked.
  absl::StatusOr<Owned*> LockExclusive(ObjectId id);
  absl::Status Conflict(ObjectId id);
  // Makes an intent durable and part of the write set.
  absl::Status Declare(const Intent& intent);
  void FlushChanges();
  absl::Status TakeBack();
  void UnlockShared();
  void EndCommitted(const CommitOptions& options);

  KaminoStore* const store_;
  const LockTable::Owner owner_;
  const absl::Duration lock_wait_;

  bool ended_ = false;
  absl::optional<IntentLog::Slot> slot_;
  WriteSet write_set_;
  absl::flat_hash_map<ObjectId, Owned> owned_;
  absl::flat_hash_set<ObjectId> shared_;
  absl::optional<ObjectId> conflict_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_KAMINO_TRANSACTION_H_
