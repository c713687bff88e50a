// A transaction of a KaminoStore. Private to it.
#ifndef KAMINO_ENGINE_KAMINO_KAMINO_TRANSACTION_H_
#define KAMINO_ENGINE_KAMINO_KAMINO_TRANSACTION_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/kamino/kamino_store.h"
#include "engine/kamino/transaction_state.h"
#include "engine/transaction.h"

namespace kamino::engine {

class KaminoTransaction final : public Transaction {
 public:
  KaminoTransaction(KaminoStore* store, LockTable::Owner owner,
                    absl::Duration lock_wait);
  ~KaminoTransaction() override;

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override;
  void Prefetch(ObjectId id) const override { store_->PrefetchToRead(id); }
  absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                   uint32_t length) override;
  absl::Status Declare(absl::Span<const Intent> intents) override;
  absl::Status ForeseeWrites(absl::Span<const Intent> writes) override;
  absl::Status ExpectWrites(absl::Span<const ObjectId> ids) override;
  bool gathers_copies() const override;
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
  std::optional<ObjectId> conflict() const override { return conflict_; }
  void ForgetConflict() override { conflict_.reset(); }

 private:
  using Object = TransactionState::Object;
  using Range = TransactionState::Range;

  absl::Status Conflict(ObjectId id);
  absl::Status LockShared(ObjectId id);
  // The object, locked and not freed. Valid until the next one is locked.
  absl::StatusOr<Object*> LockExclusive(ObjectId id);
  // As LockExclusive, and sets `payload`.
  absl::StatusOr<Object*> LockLive(ObjectId id);
  // The same, with a durable intent and copy, and the range within it.
  absl::StatusOr<Object*> OpenForWrite(ObjectId id, uint32_t offset,
                                       uint64_t length);
  absl::Status MakeSticky(Object* object);
  // `error`: the backup has no room for a copy of `object`. Returns another
  // error if the copies of this transaction alone exceed the backup.
  absl::Status ExplainNoCopy(const Object& object, const absl::Status& error);
  // Makes the stored intents durable.
  void DrainIntents();
  // kResourceExhausted: more than fits a commit record.
  absl::Status CheckRoom() const;
  // Over an undo log: before any store to the transaction's ranges, or to
  // `more`, which are declared next.
  absl::Status Save(absl::Span<const Intent> more = {});
  // The same for one that is declared next, unless it was foreseen.
  absl::Status SaveNext(const Intent& intent);
  bool Overlaps(const Object& object, const Intent& intent) const;
  // The place of the new range. `*overlaps`: with an earlier one of the object.
  Range* AddRange(Object* object, const Intent& intent, bool* overlaps);

  void ZeroNew(Object* object);
  // `hash` is of the bytes, `kept` the result of Keep.
  void OverwriteNew(Object* object, uint32_t offset,
                    absl::Span<const std::byte> bytes, uint64_t hash,
                    int64_t kept);
  // Keeps both in state_->bytes, in whole words, and returns where, or -1. The
  // bytes of these words beside the range are still to be filled in.
  int64_t Keep(uint32_t offset, absl::Span<const std::byte> head,
               absl::Span<const std::byte> bytes);
  absl::Status OverwriteWith(ObjectId id, uint32_t offset,
                             absl::Span<const std::byte> bytes, uint64_t hash,
                             int64_t kept);
  void FillWords(const Intent& intent, const Range& range);
  // Stores the deferred ranges.
  void Apply(Object* object);
  void ApplyRange(const Intent& intent, Range* range);

  // Fills in the record; afterwards no byte changes any more.
  void PrepareRecord(uint64_t sequence);
  void HashRange(const Intent& intent, Range* range);
  // Summarizes the result.
  void Tell(AfterImage* image) const;
  // Stores and flushes data of the record that is not flushed yet.
  void StoreAll();
  void RestoreAll();
  void UnlockShared();

  KaminoStore* const store_;
  const absl::Duration lock_wait_;
  std::unique_ptr<TransactionState> state_;  // the store's after the end
  bool ended_ = false;
  std::optional<ObjectId> conflict_;
  // The backup had no room for a copy because of fragmentation: it may have
  // room for all copies of this transaction once it holds no other.
  bool parts_backup_ = false;
  // While several are declared: intents that the final drain makes durable.
  struct Undrained {
    ObjectId id;
    bool replaced;  // another's
  };
  bool declares_many_ = false;
  std::vector<Undrained> undrained_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_KAMINO_TRANSACTION_H_
