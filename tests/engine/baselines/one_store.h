// Short helpers for transactions in sequence on a store of simulated memory:
// for tests of one scheme's store.
#ifndef KAMINO_TESTS_ENGINE_BASELINES_ONE_STORE_H_
#define KAMINO_TESTS_ENGINE_BASELINES_ONE_STORE_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "engine/transaction.h"
#include "gtest/gtest.h"

namespace kamino::engine {

inline absl::Span<const std::byte> BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// The durable content: everything not drained is lost.
inline SimRegion::Image DurableOf(const SimRegion& region) {
  return {region.durable(), region.durable() + region.size()};
}

// `Base` is a gtest class.
template <typename Store, typename Base = ::testing::Test>
class OneStoreTest : public Base {
 protected:
  std::unique_ptr<Transaction> Begin() {
    return store_->Begin(absl::ZeroDuration());
  }

  ObjectId Make(uint32_t size) {
    auto transaction = Begin();
    const auto id = transaction->Alloc(size);
    EXPECT_TRUE(id.ok()) << id.status();
    const absl::Status committed = transaction->Commit();
    EXPECT_TRUE(committed.ok()) << committed;
    return *id;
  }

  std::string Text(ObjectId id, size_t length) {
    auto transaction = Begin();
    const auto bytes = transaction->Read(id);
    if (!bytes.ok()) return std::string(bytes.status().message());
    return {reinterpret_cast<const char*>(bytes->data()), length};
  }

  void Put(ObjectId id, const std::string& text) {
    auto transaction = Begin();
    ASSERT_TRUE(transaction->Overwrite(id, 0, BytesOf(text)).ok());
    ASSERT_TRUE(transaction->Commit().ok());
  }

  SimRegion region_{Heap::kMinBytes};
  std::unique_ptr<SimRegion> after_;  // a crash
  std::unique_ptr<Heap> heap_;        // null: the store has its own
  std::unique_ptr<Store> store_;
};

}  // namespace kamino::engine

#endif  // KAMINO_TESTS_ENGINE_BASELINES_ONE_STORE_H_
