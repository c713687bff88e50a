// Effects of several threads: space and its lock change hands together.
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "engine/heap/heap.h"
#include "engine/kamino/kamino_store.h"
#include "engine/kamino/undo_copy.h"
#include "engine/kamino/undo_copy_propagator.h"
#include "engine/pmem/plain_region.h"
#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::engine {
namespace {

class ConcurrencyTest : public ::testing::TestWithParam<Scheme> {
 protected:
  ConcurrencyTest() {
    const bool simple = IsSimple(GetParam());
    undo_copy_region_ = std::make_unique<PlainRegion>(
        simple ? SimpleUndoCopyBytes(kTestHeapBytes)
               : DynamicUndoCopyBytes(kTestHeapBytes, 0.3));
    std::memset(heap_region_.base(), 0, heap_region_.size());
    std::memset(undo_copy_region_->base(), 0, undo_copy_region_->size());
    heap_ = *Heap::Create(&heap_region_, "test");
    store_ = *KaminoStore::Open(
        heap_.get(),
        *(simple
              ? CreateSimpleUndoCopy(heap_.get(), undo_copy_region_.get())
              : CreateDynamicUndoCopy(heap_.get(), undo_copy_region_.get())));
  }

  PlainRegion heap_region_{kTestHeapBytes};
  std::unique_ptr<PlainRegion> undo_copy_region_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<KaminoStore> store_;
};

// Another thread can use released space at once: its lock must be free by then,
// and if it is not, that is a conflict.
TEST_P(ConcurrencyTest, ReleasedSpaceCanBeAllocatedAtOnce) {
  constexpr int kRounds = 2000;
  constexpr int kObjects = 40;
  const HeapStats before = heap_->stats();
  {
    UndoCopyPropagator applier(store_.get());
    const auto churn = [&](bool commits) {
      for (int i = 0; i < kRounds; ++i) {
        auto transaction = store_->Begin(absl::ZeroDuration());
        bool ok = true;
        for (int n = 0; n < kObjects && ok; ++n) {
          auto id = transaction->Alloc(100);
          ok = id.ok();
          if (ok && commits) ok = transaction->Free(*id).ok();
        }
        const absl::Status ended =
            ok && commits ? transaction->Commit() : transaction->Abort();
        ASSERT_TRUE(ended.ok()) << ended;
      }
    };
    std::thread other(churn, true);
    churn(false);
    other.join();
  }
  EXPECT_EQ(heap_->stats().bytes_used, before.bytes_used);
  EXPECT_EQ(store_->stats().locked_objects, 0u);
}

// It gets an error, also while the copies of another thread's objects come and
// go. (Too short a race to show that evictions are bounded.)
TEST_P(ConcurrencyTest, ATransactionThatNeedsTooManyCopiesEndsBesideWriters) {
  if (IsSimple(GetParam())) GTEST_SKIP() << "it has room for all copies";
  constexpr int kLarge = 16;
  constexpr int kSmall = 200;
  std::vector<ObjectId> large;
  std::vector<ObjectId> small;
  {
    auto transaction = store_->Begin(absl::ZeroDuration());
    for (int i = 0; i < kLarge; ++i) {
      large.push_back(*transaction->Alloc(200u << 10));
    }
    for (int i = 0; i < kSmall; ++i) small.push_back(*transaction->Alloc(1000));
    ASSERT_TRUE(transaction->Commit().ok());
  }
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (size_t i = 0; !stop; ++i) {
      auto transaction = store_->Begin(absl::ZeroDuration());
      const bool ok = transaction->Write(small[i % kSmall], 0, 8).ok();
      EXPECT_TRUE((ok ? transaction->Commit() : transaction->Abort()).ok());
    }
  });
  for (int round = 0; round < 20; ++round) {
    auto transaction = store_->Begin(absl::ZeroDuration());
    absl::Status status;
    for (int i = 0; i < kLarge && status.ok(); ++i) {
      status = transaction->Write(large[i], 0, 8).status();
    }
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_TRUE(transaction->Abort().ok());
  }
  stop = true;
  writer.join();
  store_->Quiesce();
  EXPECT_EQ(store_->stats().locked_objects, 0u);
}

INSTANTIATE_TEST_SUITE_P(Schemes, ConcurrencyTest,
                         ::testing::ValuesIn(kAllSchemes), SchemeName);

}  // namespace
}  // namespace kamino::engine
