// A store that does what another one does, for tests that change a little of
// that, or watch it.
#ifndef KAMINO_TESTS_ENGINE_CRASH_FORWARDING_STORE_H_
#define KAMINO_TESTS_ENGINE_CRASH_FORWARDING_STORE_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "engine/transactional_store.h"
#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {

class ForwardingTransaction : public Transaction {
 public:
  explicit ForwardingTransaction(std::unique_ptr<Transaction> inner)
      : inner_(std::move(inner)) {}

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override {
    return inner_->Read(id);
  }
  absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                   uint32_t length) override {
    return inner_->Write(id, offset, length);
  }
  absl::Status Declare(absl::Span<const Intent> intents) override {
    return inner_->Declare(intents);
  }
  absl::Status Overwrite(ObjectId id, uint32_t offset,
                         absl::Span<const std::byte> bytes) override {
    return inner_->Overwrite(id, offset, bytes);
  }
  absl::StatusOr<ObjectId> Alloc(uint32_t size) override {
    return inner_->Alloc(size);
  }
  absl::Status Free(ObjectId id) override { return inner_->Free(id); }
  using Transaction::Commit;
  absl::Status Commit(const CommitOptions& options) override {
    return inner_->Commit(options);
  }
  absl::Status Abort() override { return inner_->Abort(); }
  const WriteSet& write_set() const override { return inner_->write_set(); }
  std::optional<ObjectId> conflict() const override {
    return inner_->conflict();
  }
  void ForgetConflict() override { inner_->ForgetConflict(); }

 protected:
  Transaction& inner() { return *inner_; }

 private:
  const std::unique_ptr<Transaction> inner_;
};

// Makes of each transaction what it is told to.
class ForwardingStore final : public TransactionalStore {
 public:
  using Wrap =
      std::function<std::unique_ptr<Transaction>(std::unique_ptr<Transaction>)>;

  // `inner` must outlive this.
  ForwardingStore(TransactionalStore* inner, Wrap wrap)
      : inner_(inner), wrap_(std::move(wrap)) {}

  absl::string_view scheme() const override { return inner_->scheme(); }
  std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) override {
    return wrap_(inner_->Begin(lock_wait));
  }
  ObjectId root() const override { return inner_->root(); }
  void Quiesce() override { inner_->Quiesce(); }
  RecoveryReport recovery_report() const override {
    return inner_->recovery_report();
  }
  uint64_t durable_sequence() const override {
    return inner_->durable_sequence();
  }
  bool AwaitDurable(uint64_t sequence, absl::Duration wait) override {
    return inner_->AwaitDurable(sequence, wait);
  }
  uint64_t bytes_used() const override { return inner_->bytes_used(); }

 private:
  TransactionalStore* const inner_;
  const Wrap wrap_;
};

class ForwardingRig final : public Rig {
 public:
  ForwardingRig(std::unique_ptr<Rig> inner, ForwardingStore::Wrap wrap)
      : inner_(std::move(inner)), store_(&inner_->store(), std::move(wrap)) {}

  TransactionalStore& store() override { return store_; }
  void Sync(size_t transactions) override { inner_->Sync(transactions); }
  bool can_hold() const override { return inner_->can_hold(); }
  void ReleaseHold(uint64_t sequence) override {
    inner_->ReleaseHold(sequence);
  }
  std::optional<uint64_t> last_sequence() const override {
    return inner_->last_sequence();
  }
  bool cancels() const override { return inner_->cancels(); }
  uint64_t live_objects() const override { return inner_->live_objects(); }

 private:
  const std::unique_ptr<Rig> inner_;
  ForwardingStore store_;
};

// The scheme with transactions of another make.
inline Scheme WithTransactions(const Scheme& scheme,
                               const ForwardingStore::Wrap& wrap) {
  Scheme other = scheme;
  other.open = [open = scheme.open, wrap](
                   const std::vector<Region*>& regions,
                   bool make) -> absl::StatusOr<std::unique_ptr<Rig>> {
    auto rig = open(regions, make);
    if (!rig.ok()) return rig;
    return std::make_unique<ForwardingRig>(std::move(*rig), wrap);
  };
  return other;
}

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_FORWARDING_STORE_H_
