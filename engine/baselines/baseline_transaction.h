// The common part of all baselines' transactions: object locks as in Kamino's
// own transactions, and checks of arguments.
//
// Two-phase: a lock is held from the first Read (shared) or Write, Alloc, Free
// (exclusive) of its object to the transaction's end.
#ifndef KAMINO_ENGINE_BASELINES_BASELINE_TRANSACTION_H_
#define KAMINO_ENGINE_BASELINES_BASELINE_TRANSACTION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/baselines/baseline_scheme.h"
#include "engine/baselines/held_objects.h"
#include "engine/kamino/lock_table.h"
#include "engine/transaction.h"

namespace kamino::engine {

// A store's locks. Thread-safe.
struct ObjectLocks {
  LockTable table;
  std::atomic<LockTable::Owner> next_owner{1};
};

// A scheme fills in BaselineScheme's functions, and may record
// CommitOptions::sequence. hold_locks is kUnimplemented: only Kamino's stores
// are part of a chain.
class BaselineTransaction : public BaselineScheme {
 public:
  // A clock can be asked so far ahead.
  static constexpr absl::Duration kForEver = absl::Hours(24 * 365);

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) final;
  void Prefetch(ObjectId id) const final {
    locks_->table.Prefetch(id);
    PrefetchPayload(id);
  }
  absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                   uint32_t length) final;
  absl::Status Declare(absl::Span<const Intent> intents) final;
  absl::Status Overwrite(ObjectId id, uint32_t offset,
                         absl::Span<const std::byte> bytes) final;
  absl::StatusOr<ObjectId> Alloc(uint32_t size) final;
  absl::Status Free(ObjectId id) final;
  using Transaction::Commit;
  absl::Status Commit(const CommitOptions& options) final;
  absl::Status Abort() final;
  const WriteSet& write_set() const final { return write_set_; }
  std::optional<ObjectId> conflict() const final { return conflict_; }
  void ForgetConflict() final { conflict_.reset(); }

 protected:
  // `locks` must outlive this.
  BaselineTransaction(ObjectLocks* locks, absl::Duration lock_wait)
      : locks_(locks),
        owner_(locks->next_owner.fetch_add(1, std::memory_order_relaxed)),
        lock_wait_(lock_wait) {}

  // For the destructor of the scheme's class.
  void AbortIfLive();

  HeldObjects& held() { return held_; }
  void Unlock(HeldObject& held);

 private:
  // One DeclareWrite for each.
  absl::Status DeclareWrites(absl::Span<const Intent> writes) override;
  // A DeclareWrite, and the stores.
  absl::Status Put(HeldObject& held, uint32_t offset,
                   absl::Span<const std::byte> bytes) override;

  // The object's entry, locked.
  absl::StatusOr<HeldObject*> Hold(ObjectId id, bool exclusive);
  // Also checks that the object is live.
  absl::StatusOr<HeldObject*> HoldLive(ObjectId id, bool exclusive);
  absl::StatusOr<HeldObject*> HoldRange(ObjectId id, uint32_t offset,
                                        size_t length);
  void End(bool committed);
  // Remembers an error of the scheme's functions, which may have done a part.
  template <typename Done>
  Done Noted(Done done) {
    if (!done.ok()) Note(done);
    return done;
  }
  template <typename T>
  void Note(const absl::StatusOr<T>& error) {
    Note(error.status());
  }
  void Note(const absl::Status& error) { failed_.Update(error); }

  ObjectLocks* const locks_;
  const LockTable::Owner owner_;
  const absl::Duration lock_wait_;

  bool ended_ = false;
  absl::Status failed_;  // the first error; Commit returns it
  WriteSet write_set_;
  HeldObjects held_;
  std::optional<ObjectId> conflict_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_BASELINE_TRANSACTION_H_
