// A store that knows how often each of its objects is used: by how many
// transactions, each an operation of YCSB's (Archapt, section 2.2).
#ifndef KAMINO_LAB_SCHEMES_OBSERVED_STORE_H_
#define KAMINO_LAB_SCHEMES_OBSERVED_STORE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/forwarding_store.h"

namespace kamino::bench::schemes {

// For one thread.
class ObservedStore final : public engine::ForwardingStore {
 public:
  // `below` must outlive this.
  explicit ObservedStore(engine::TransactionalStore* below) : below_(*below) {}

  std::unique_ptr<engine::Transaction> Begin(absl::Duration wait) override;

  // Those that were made of a size in [least, most), in bytes.
  std::vector<engine::ObjectId> ObjectsBetween(uint32_t least,
                                               uint32_t most) const;
  // Since the last Forget.
  uint64_t UsesOf(engine::ObjectId id) const;
  void Forget() { uses_.clear(); }

  void Use(engine::ObjectId id) { ++uses_[id]; }
  void Made(engine::ObjectId id, uint32_t size) { sizes_[id] = size; }

 private:
  engine::TransactionalStore& below() const override { return below_; }

  engine::TransactionalStore& below_;
  absl::flat_hash_map<engine::ObjectId, uint64_t> uses_;
  absl::flat_hash_map<engine::ObjectId, uint32_t> sizes_;
};

}  // namespace kamino::bench::schemes

#endif  // KAMINO_LAB_SCHEMES_OBSERVED_STORE_H_
