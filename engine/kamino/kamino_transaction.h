// A transaction of a KaminoStore. Private to it.
//
// Not thread-safe. Hands its state to the store's pipeline when it ends.
#ifndef KAMINO_ENGINE_KAMINO_KAMINO_TRANSACTION_H_
#define KAMINO_ENGINE_KAMINO_KAMINO_TRANSACTION_H_

#include <cstddef>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/kamino/store_parts.h"
#include "engine/kamino/transaction_locks.h"
#include "engine/kamino/transaction_ranges.h"
#include "engine/kamino/transaction_state.h"
#include "engine/kamino/write_intents.h"
#include "engine/transaction.h"

namespace kamino::engine {

class KaminoTransaction final : public Transaction {
 public:
  // `parts` outlives this.
  KaminoTransaction(const StoreParts& parts, LockTable::Owner owner,
                    absl::Duration lock_wait);
  ~KaminoTransaction() override;

  // The thread's next transaction uses the memory of the last one that it
  // destroyed.
  static void* operator new(size_t size);
  static void operator delete(void* memory);

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override;
  void Prefetch(ObjectId id) const override;
  absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                   uint32_t length) override;
  absl::Status Declare(absl::Span<const Intent> intents) override;
  absl::Status ForeseeWrites(absl::Span<const Intent> writes) override;
  absl::Status ExpectWrites(absl::Span<const ObjectId> ids) override;
  bool gathers_copies() const override { return !parts_.saver->saves(); }
  absl::Status Overwrite(ObjectId id, uint32_t offset,
                         absl::Span<const std::byte> bytes) override;
  absl::Status OverwriteBoth(ObjectId id, uint32_t offset,
                             absl::Span<const std::byte> head,
                             absl::Span<const std::byte> bytes) override;
  absl::StatusOr<ObjectId> Alloc(uint32_t size) override;
  absl::Status Free(ObjectId id) override;
  using Transaction::Commit;
  absl::Status Commit(const CommitOptions& options) override;
  absl::Status Abort() override;
  const WriteSet& write_set() const override;
  std::optional<ObjectId> conflict() const override {
    return locks_.conflict();
  }
  void ForgetConflict() override { locks_.ForgetConflict(); }

 private:
  using Object = TransactionState::Object;

  // Before an object is locked and `length` bytes of it are written. Any id is
  // allowed.
  void PrefetchToWrite(ObjectId id, size_t length) const;
  // Locks the object exclusively, and sets `payload`. Valid until the next one
  // is locked. Null: `*error` says why.
  Object* LockLive(ObjectId id, absl::Status* error);
  // The same, with a durable intent and copy, and the range within it.
  Object* OpenForWrite(ObjectId id, uint32_t offset, uint64_t length,
                       absl::Status* error);
  void BeforeChange(ObjectId id, IntentKind kind) {
    if (parts_.snapshots == nullptr) return;
    parts_.snapshots->BeforeChange({id, 0, 0, kind});
  }
  // kResourceExhausted: more than fits a commit record.
  absl::Status CheckRoom() const {
    if (state_->ranges.size() < parts_.log->max_entries()) {
      return absl::OkStatus();
    }
    return NoRoom();
  }
  absl::Status NoRoom() const;
  absl::Status OverwriteWith(ObjectId id, uint32_t offset,
                             const TransactionRanges::Bytes& content);

  const StoreParts& parts_;
  std::unique_ptr<TransactionState> state_;  // the store's after the end
  TransactionLocks locks_;
  WriteIntents intents_;
  TransactionRanges ranges_;
  bool ended_ = false;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_KAMINO_TRANSACTION_H_
