// A store, and transactions, that forward every call to those below. The base
// of classes that change or observe a few calls.
#ifndef KAMINO_ENGINE_FORWARDING_STORE_H_
#define KAMINO_ENGINE_FORWARDING_STORE_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/transactional_store.h"

namespace kamino::engine {

// Forwards each call as it is. A class that observes stores overrides Write,
// Overwrite and OverwriteBoth.
class ForwardingTransaction : public Transaction {
 public:
  explicit ForwardingTransaction(std::unique_ptr<Transaction> below)
      : below_(std::move(below)) {}

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override {
    return below_->Read(id);
  }
  void Prefetch(ObjectId id) const override { below_->Prefetch(id); }
  absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                   uint32_t length) override {
    return below_->Write(id, offset, length);
  }
  absl::Status Declare(absl::Span<const Intent> intents) override {
    return below_->Declare(intents);
  }
  absl::Status ForeseeWrites(absl::Span<const Intent> writes) override {
    return below_->ForeseeWrites(writes);
  }
  absl::Status ExpectWrites(absl::Span<const ObjectId> objects) override {
    return below_->ExpectWrites(objects);
  }
  bool gathers_copies() const override { return below_->gathers_copies(); }
  absl::Status Overwrite(ObjectId id, uint32_t offset,
                         absl::Span<const std::byte> bytes) override {
    return below_->Overwrite(id, offset, bytes);
  }
  absl::Status OverwriteBoth(ObjectId id, uint32_t offset,
                             absl::Span<const std::byte> head,
                             absl::Span<const std::byte> bytes) override {
    return below_->OverwriteBoth(id, offset, head, bytes);
  }
  absl::StatusOr<ObjectId> Alloc(uint32_t size) override {
    return below_->Alloc(size);
  }
  absl::Status Free(ObjectId id) override { return below_->Free(id); }
  using Transaction::Commit;
  absl::Status Commit(const CommitOptions& options) override {
    return below_->Commit(options);
  }
  absl::Status Abort() override { return below_->Abort(); }
  const WriteSet& write_set() const override { return below_->write_set(); }
  std::optional<ObjectId> conflict() const override {
    return below_->conflict();
  }
  void ForgetConflict() override { below_->ForgetConflict(); }

 protected:
  Transaction& below() const { return *below_; }

 private:
  const std::unique_ptr<Transaction> below_;
};

class ForwardingStore : public TransactionalStore {
 public:
  absl::string_view scheme() const override { return below().scheme(); }
  std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) override {
    return below().Begin(lock_wait);
  }
  ObjectId root() const override { return below().root(); }
  void Quiesce() override { below().Quiesce(); }
  RecoveryReport recovery_report() const override {
    return below().recovery_report();
  }
  uint64_t durable_sequence() const override {
    return below().durable_sequence();
  }
  bool AwaitDurable(uint64_t sequence, absl::Duration wait) override {
    return below().AwaitDurable(sequence, wait);
  }
  uint64_t bytes_used() const override { return below().bytes_used(); }

 protected:
  // Always the same one.
  virtual TransactionalStore& below() const = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_FORWARDING_STORE_H_
