#include "lab/schemes/observed_store.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "base/status_macros.h"

namespace kamino::bench::schemes {
namespace {

using engine::ObjectId;
using engine::Transaction;

class ObservedTransaction final : public engine::ForwardingTransaction {
 public:
  ObservedTransaction(ObservedStore* store, std::unique_ptr<Transaction> below)
      : ForwardingTransaction(std::move(below)), store_(*store) {}

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override {
    Use(id);
    return below().Read(id);
  }
  absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                   uint32_t length) override {
    Use(id);
    return below().Write(id, offset, length);
  }
  absl::Status Overwrite(ObjectId id, uint32_t offset,
                         absl::Span<const std::byte> bytes) override {
    Use(id);
    return below().Overwrite(id, offset, bytes);
  }
  absl::Status OverwriteBoth(ObjectId id, uint32_t offset,
                             absl::Span<const std::byte> head,
                             absl::Span<const std::byte> bytes) override {
    Use(id);
    return below().OverwriteBoth(id, offset, head, bytes);
  }
  absl::StatusOr<ObjectId> Alloc(uint32_t size) override {
    ASSIGN_OR_RETURN(const ObjectId id, below().Alloc(size));
    store_.Made(id, size);
    return id;
  }

 private:
  void Use(ObjectId id) {
    if (used_.insert(id).second) store_.Use(id);
  }

  ObservedStore& store_;
  absl::flat_hash_set<ObjectId> used_;
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
