#include "lab/schemes/words.h"

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

uint64_t Words::LargeBytes(const Setting& setting, uint32_t size) {
  return setting.Scaled<uint64_t>(192u << 20,
                                  size < 1024 ? 32u << 20 : 80u << 20);
}

absl::StatusOr<std::unique_ptr<Words>> Words::MakeLarge(
    const Setting& setting, const std::string& store, uint32_t size,
    Watch watch) {
  const uint64_t data = LargeBytes(setting, size);
  const uint64_t objects = data / size;
  return Make(setting, store, AsItIs(), data + objects * 256 + (8u << 20),
              objects, size, watch);
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
                                   Random& random, bool declares) const {
  constexpr uint32_t kWord = sizeof(uint64_t);
  intents_.clear();
  for (int i = 0; i < count; ++i) {
    const engine::ObjectId id = ids_[random.Below(ids_.size())];
    const auto word = static_cast<uint32_t>(random.Below(size_ / kWord));
    intents_.push_back({id, kWord * word, kWord});
  }
  if (declares) RETURN_IF_ERROR(transaction.Declare(intents_));
  for (const engine::Intent& intent : intents_) {
    const uint64_t value = random.Next();
    RETURN_IF_ERROR(transaction.Overwrite(
        intent.object, intent.offset,
        {reinterpret_cast<const std::byte*>(&value), sizeof(value)}));
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench::schemes
