// A store that several threads use, with the backup applied by another one.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "engine/heap/heap.h"
#include "engine/kamino/backup.h"
#include "engine/kamino/backup_applier.h"
#include "engine/kamino/kamino_store.h"
#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::engine {
namespace {

constexpr absl::Duration kWait = absl::Seconds(10);

// DRAM; the simulator is one thread's.
class MemoryRegion final : public Region {
 public:
  explicit MemoryRegion(size_t size)
      : size_(size),
        bytes_(static_cast<std::byte*>(std::aligned_alloc(4096, size))) {
    std::memset(bytes_, 0, size);
  }
  ~MemoryRegion() override { std::free(bytes_); }

  std::byte* base() const override { return bytes_; }
  size_t size() const override { return size_; }
  void Flush(const void*, size_t) override {}
  void Drain() override {}
  void CopyFlush(void* destination, const void* source,
                 size_t length) override {
    std::memcpy(destination, source, length);
  }

 private:
  const size_t size_;
  std::byte* const bytes_;
};

class ConcurrencyTest : public ::testing::TestWithParam<Scheme> {
 protected:
  ConcurrencyTest() {
    const bool simple = GetParam() == Scheme::kSimple;
    backup_region_ = std::make_unique<MemoryRegion>(
        simple ? SimpleBackupBytes(kTestHeapBytes)
               : DynamicBackupBytes(kTestHeapBytes, 0.3));
    heap_ = *Heap::Create(&heap_region_, "test");
    store_ = *KaminoStore::Open(
        heap_.get(),
        *(simple ? CreateSimpleBackup(heap_.get(), backup_region_.get())
                 : CreateDynamicBackup(heap_.get(), backup_region_.get())));
  }

  // A committed object of one number.
  ObjectId Make(uint64_t value) {
    auto transaction = store_->Begin(kWait);
    const ObjectId id = *transaction->Alloc(sizeof(value));
    std::memcpy(*transaction->Write(id, 0, sizeof(value)), &value,
                sizeof(value));
    EXPECT_TRUE(transaction->Commit().ok());
    return id;
  }

  uint64_t ValueOf(ObjectId id) {
    uint64_t value;
    std::memcpy(&value, heap_->Payload(id)->data(), sizeof(value));
    return value;
  }

  static absl::Status Add(Transaction& transaction, ObjectId id,
                          int64_t amount) {
    auto bytes = transaction.Write(id, 0, sizeof(uint64_t));
    if (!bytes.ok()) return bytes.status();
    uint64_t value;
    std::memcpy(&value, *bytes, sizeof(value));
    value += amount;
    std::memcpy(*bytes, &value, sizeof(value));
    return absl::OkStatus();
  }

  MemoryRegion heap_region_{kTestHeapBytes};
  std::unique_ptr<MemoryRegion> backup_region_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<KaminoStore> store_;
};

TEST_P(ConcurrencyTest, TransfersKeepTheTotal) {
  constexpr uint64_t kEach = 1000;
  constexpr int kTransfers = 2000;
  std::vector<ObjectId> ids;
  {
    BackupApplier applier(store_.get());
    for (int i = 0; i < 8; ++i) ids.push_back(Make(kEach));
    const auto transfer = [&](uint64_t seed) {
      std::mt19937_64 random(seed);
      for (int i = 0; i < kTransfers; ++i) {
        // In ascending order, so that nobody waits in a circle.
        const size_t from = random() % (ids.size() - 1);
        const size_t to = from + 1 + random() % (ids.size() - 1 - from);
        auto transaction = store_->Begin(kWait);
        ASSERT_TRUE(Add(*transaction, ids[from], -1).ok());
        ASSERT_TRUE(Add(*transaction, ids[to], 1).ok());
        if (random() % 4 == 0) {
          ASSERT_TRUE(transaction->Abort().ok());
        } else {
          ASSERT_TRUE(transaction->Commit().ok());
        }
      }
    };
    std::thread other(transfer, 1);
    transfer(2);
    other.join();
  }
  uint64_t total = 0;
  for (ObjectId id : ids) total += ValueOf(id);
  EXPECT_EQ(total, kEach * ids.size());
  EXPECT_EQ(store_->stats().locked_objects, 0u);
  EXPECT_EQ(store_->stats().backup_pending, 0u);
}

// Space that one thread gives back is another's at once: its lock must be free
// by then, and when it is not, that is a conflict.
TEST_P(ConcurrencyTest, FreedSpaceIsAllocatedAtOnce) {
  constexpr int kRounds = 20000;
  const HeapStats before = heap_->stats();
  {
    BackupApplier applier(store_.get());
    const auto churn = [&](bool commits) {
      for (int i = 0; i < kRounds; ++i) {
        auto transaction = store_->Begin(absl::ZeroDuration());
        auto id = transaction->Alloc(100);
        if (id.ok() && commits && transaction->Free(*id).ok()) {
          ASSERT_TRUE(transaction->Commit().ok());
        } else {
          ASSERT_TRUE(transaction->Abort().ok());
        }
      }
    };
    std::thread other(churn, true);
    churn(false);
    other.join();
  }
  EXPECT_EQ(heap_->stats().bytes_used, before.bytes_used);
  EXPECT_EQ(store_->stats().locked_objects, 0u);
}

TEST_P(ConcurrencyTest, AWaitingWriterGetsTheLockWhenTheBackupIsInSync) {
  BackupApplier applier(store_.get());
  const ObjectId id = Make(0);
  constexpr int kWrites = 2000;
  for (int i = 0; i < kWrites; ++i) {
    auto transaction = store_->Begin(kWait);
    ASSERT_TRUE(Add(*transaction, id, 1).ok());
    ASSERT_TRUE(transaction->Commit().ok());
  }
  EXPECT_EQ(ValueOf(id), static_cast<uint64_t>(kWrites));
}

INSTANTIATE_TEST_SUITE_P(Schemes, ConcurrencyTest,
                         ::testing::Values(Scheme::kSimple, Scheme::kDynamic),
                         SchemeName);

}  // namespace
}  // namespace kamino::engine
