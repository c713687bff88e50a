// Effects of several threads: space and its lock change hands together.
#include <cstring>
#include <memory>
#include <thread>

#include "engine/heap/heap.h"
#include "engine/kamino/backup.h"
#include "engine/kamino/backup_propagator.h"
#include "engine/kamino/kamino_store.h"
#include "engine/pmem/plain_region.h"
#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::engine {
namespace {

class ConcurrencyTest : public ::testing::TestWithParam<Scheme> {
 protected:
  ConcurrencyTest() {
    const bool simple = IsSimple(GetParam());
    backup_region_ = std::make_unique<PlainRegion>(
        simple ? SimpleBackupBytes(kTestHeapBytes)
               : DynamicBackupBytes(kTestHeapBytes, 0.3));
    std::memset(heap_region_.base(), 0, heap_region_.size());
    std::memset(backup_region_->base(), 0, backup_region_->size());
    heap_ = *Heap::Create(&heap_region_, "test");
    store_ = *KaminoStore::Open(
        heap_.get(),
        *(simple ? CreateSimpleBackup(heap_.get(), backup_region_.get())
                 : CreateDynamicBackup(heap_.get(), backup_region_.get())));
  }

  PlainRegion heap_region_{kTestHeapBytes};
  std::unique_ptr<PlainRegion> backup_region_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<KaminoStore> store_;
};

// Another thread can use released space at once: its lock must be free by then,
// and if it is not, that is a conflict.
TEST_P(ConcurrencyTest, SpaceGivenBackIsAllocatedAtOnce) {
  constexpr int kRounds = 2000;
  constexpr int kObjects = 40;
  const HeapStats before = heap_->stats();
  {
    BackupPropagator applier(store_.get());
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

INSTANTIATE_TEST_SUITE_P(Schemes, ConcurrencyTest,
                         ::testing::ValuesIn(kAllSchemes), SchemeName);

}  // namespace
}  // namespace kamino::engine
