#include "bench/schemes/words.h"

#include <algorithm>

#include "absl/memory/memory.h"
#include "base/status_macros.h"
#include "bench/engine/workload.h"

namespace kamino::bench::schemes {
namespace {

constexpr uint64_t kLoadBatch = 16;  // objects a transaction

}  // namespace

absl::StatusOr<std::unique_ptr<Words>> Words::Make(
    const Setting& setting, const std::string& store, const Memory& memory,
    uint64_t bytes, uint64_t objects, uint32_t size, Watch watch) {
  ASSIGN_OR_RETURN(auto opened, Open(setting, store, memory, bytes, watch));
  auto words = absl::WrapUnique(new Words(store, std::move(opened), size));
  uint64_t retries = 0;
  while (words->ids_.size() < objects) {
    const size_t before = words->ids_.size();
    absl::Status made = Transact(
        words->store(), &retries, [&](engine::Transaction& transaction) {
          words->ids_.resize(before);
          for (uint64_t i = 0; i < kLoadBatch && words->ids_.size() < objects;
               ++i) {
            ASSIGN_OR_RETURN(const auto id, transaction.Alloc(size));
            words->ids_.push_back(id);
          }
          return absl::OkStatus();
        });
    if (!made.ok()) return Annotate(made, store);
  }
  words->store().Quiesce();
  return words;
}

absl::Status Words::Store(engine::Transaction& transaction, uint64_t object,
                          Random& random) const {
  const auto word = static_cast<uint32_t>(random.Below(size_ / 8));
  const uint64_t value = random.Next();
  return transaction.Overwrite(
      ids_[object], 8 * word,
      {reinterpret_cast<const std::byte*>(&value), sizeof(value)});
}

absl::Status Words::StoreWhole(engine::Transaction& transaction,
                               uint64_t object, Random& random) const {
  content_.resize(size_ / sizeof(uint64_t));
  // Not all of it, which would take longer than to store it.
  for (size_t i = 0; i < content_.size(); i += 8) content_[i] = random.Next();
  return transaction.Overwrite(
      ids_[object], 0,
      {reinterpret_cast<const std::byte*>(content_.data()), size_});
}

absl::Status Words::StoreScattered(engine::Transaction& transaction, int count,
                                   Random& random) const {
  for (int i = 0; i < count; ++i) {
    RETURN_IF_ERROR(Store(transaction, random.Below(ids_.size()), random));
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench::schemes
