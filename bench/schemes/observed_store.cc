#include "bench/schemes/observed_store.h"

#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "base/status_macros.h"

namespace kamino::bench::schemes {
namespace {

using engine::ObjectId;
using engine::Transaction;

class ObservedTransaction final : public Transaction {
 public:
  ObservedTransaction(ObservedStore* store, std::unique_ptr<Transaction> below)
      : store_(*store), below_(std::move(below)) {}

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override {
    Use(id);
    return below_->Read(id);
  }
  void Prefetch(ObjectId id) const override { below_->Prefetch(id); }
  absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                   uint32_t length) override {
    Use(id);
    return below_->Write(id, offset, length);
  }
  absl::Status Declare(absl::Span<const engine::Intent> intents) override {
    return below_->Declare(intents);
  }
  absl::Status ForeseeWrites(absl::Span<const engine::Intent> writes) override {
    return below_->ForeseeWrites(writes);
  }
  absl::Status Overwrite(ObjectId id, uint32_t offset,
                         absl::Span<const std::byte> bytes) override {
    Use(id);
    return below_->Overwrite(id, offset, bytes);
  }
  absl::Status OverwriteBoth(ObjectId id, uint32_t offset,
                             absl::Span<const std::byte> head,
                             absl::Span<const std::byte> bytes) override {
    Use(id);
    return below_->OverwriteBoth(id, offset, head, bytes);
  }
  absl::StatusOr<ObjectId> Alloc(uint32_t size) override {
    ASSIGN_OR_RETURN(const ObjectId id, below_->Alloc(size));
    store_.Made(id, size);
    return id;
  }
  absl::Status Free(ObjectId id) override { return below_->Free(id); }
  using Transaction::Commit;
  absl::Status Commit(const engine::CommitOptions& options) override {
    return below_->Commit(options);
  }
  absl::Status Abort() override { return below_->Abort(); }
  const engine::WriteSet& write_set() const override {
    return below_->write_set();
  }
  std::optional<ObjectId> conflict() const override {
    return below_->conflict();
  }
  void ForgetConflict() override { below_->ForgetConflict(); }

 private:
  void Use(ObjectId id) {
    if (used_.insert(id).second) store_.Use(id);
  }

  ObservedStore& store_;
  absl::flat_hash_set<ObjectId> used_;
  const std::unique_ptr<Transaction> below_;
};

}  // namespace

std::unique_ptr<Transaction> ObservedStore::Begin(absl::Duration wait) {
  return absl::make_unique<ObservedTransaction>(this, below_.Begin(wait));
}

std::vector<ObjectId> ObservedStore::ObjectsBetween(uint32_t least,
                                                    uint32_t most) const {
  std::vector<ObjectId> found;
  for (const auto& [id, size] : sizes_) {
    if (size >= least && size < most) found.push_back(id);
  }
  return found;
}

uint64_t ObservedStore::UsesOf(ObjectId id) const {
  const auto uses = uses_.find(id);
  return uses == uses_.end() ? 0 : uses->second;
}

}  // namespace kamino::bench::schemes
