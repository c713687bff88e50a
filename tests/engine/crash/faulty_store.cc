#include "tests/engine/crash/faulty_store.h"

#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "tests/faults/fault.h"

namespace kamino::engine::crash {
namespace {

class FaultyTransaction final : public Transaction {
 public:
  explicit FaultyTransaction(std::unique_ptr<Transaction> inner)
      : inner_(std::move(inner)) {}

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override {
    return inner_->Read(id);
  }

  absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                   uint32_t length) override {
    if (faults::FaultPlanted("transaction-write-not-declared")) {
      return Bytes(id, offset);
    }
    if (faults::FaultPlanted("transaction-intent-too-short") && length > 1) {
      return inner_->Write(id, offset, length / 2);
    }
    if (faults::FaultPlanted("transaction-intent-misplaced") && offset > 0) {
      auto bytes = inner_->Write(id, offset - 1, length);
      if (!bytes.ok()) return bytes;
      return *bytes + 1;
    }
    return inner_->Write(id, offset, length);
  }

  absl::Status Declare(absl::Span<const Intent> intents) override {
    return inner_->Declare(intents);
  }

  absl::Status Overwrite(ObjectId id, uint32_t offset,
                         absl::Span<const std::byte> bytes) override {
    if (faults::FaultPlanted("transaction-stores-before-intent")) {
      auto place = Bytes(id, offset);
      if (!place.ok()) return place.status();
      std::memcpy(*place, bytes.data(), bytes.size());
    }
    return inner_->Overwrite(id, offset, bytes);
  }

  absl::StatusOr<ObjectId> Alloc(uint32_t size) override {
    return inner_->Alloc(size);
  }

  absl::Status Free(ObjectId id) override {
    // A leak.
    if (faults::FaultPlanted("transaction-free-forgotten")) {
      return absl::OkStatus();
    }
    return inner_->Free(id);
  }

  using Transaction::Commit;
  absl::Status Commit(const CommitOptions& options) override {
    if (faults::FaultPlanted("transaction-commit-ignored")) {
      return inner_->Abort();
    }
    return inner_->Commit(options);
  }

  absl::Status Abort() override {
    if (faults::FaultPlanted("transaction-abort-commits")) {
      return inner_->Commit();
    }
    return inner_->Abort();
  }

  const WriteSet& write_set() const override { return inner_->write_set(); }
  std::optional<ObjectId> conflict() const override {
    return inner_->conflict();
  }
  void ForgetConflict() override { inner_->ForgetConflict(); }

 private:
  absl::StatusOr<std::byte*> Bytes(ObjectId id, uint32_t offset) {
    auto bytes = inner_->Read(id);
    if (!bytes.ok()) return bytes.status();
    return const_cast<std::byte*>(bytes->data()) + offset;
  }

  const std::unique_ptr<Transaction> inner_;
};

class FaultyStore final : public TransactionalStore {
 public:
  explicit FaultyStore(TransactionalStore* inner) : inner_(inner) {}

  absl::string_view scheme() const override { return inner_->scheme(); }
  std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) override {
    return absl::make_unique<FaultyTransaction>(inner_->Begin(lock_wait));
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
};

class FaultyRig final : public Rig {
 public:
  explicit FaultyRig(std::unique_ptr<Rig> inner)
      : inner_(std::move(inner)), store_(&inner_->store()) {}

  TransactionalStore& store() override { return store_; }
  void Sync(size_t transactions) override { inner_->Sync(transactions); }
  bool can_hold() const override { return inner_->can_hold(); }
  void ReleaseHold(uint64_t sequence) override {
    inner_->ReleaseHold(sequence);
  }
  std::optional<uint64_t> last_sequence() const override {
    return inner_->last_sequence();
  }
  uint64_t live_objects() const override { return inner_->live_objects(); }

 private:
  const std::unique_ptr<Rig> inner_;
  FaultyStore store_;
};

}  // namespace

Scheme WithFaultyStore(const Scheme& scheme) {
  Scheme faulty = scheme;
  faulty.open = [open = scheme.open](
                    const std::vector<Region*>& regions,
                    bool make) -> absl::StatusOr<std::unique_ptr<Rig>> {
    auto rig = open(regions, make);
    if (!rig.ok()) return rig;
    return absl::make_unique<FaultyRig>(std::move(*rig));
  };
  return faulty;
}

}  // namespace kamino::engine::crash
