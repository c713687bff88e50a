// Several threads, one propagator, a real file: money moves between objects,
// and the sum stays.
#include "engine/kamino/undo_copy_propagator.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/pmem/file_region.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

constexpr int kObjects = 16;
constexpr int kThreads = 3;
constexpr int kTransfers = 2000;
constexpr uint64_t kEach = 1000;

class UndoCopyPropagatorTest : public ::testing::Test {
 protected:
  UndoCopyPropagatorTest() {
    heap_region_ = MakeRegion("heap", 16 << 20);
    heap_ = *Heap::Create(heap_region_.get(), "test");
    undo_copy_region_ =
        MakeRegion("backup", DynamicUndoCopyBytes(heap_region_->size(), 0.3));
    store_ = *KaminoStore::Open(
        heap_.get(),
        *CreateDynamicUndoCopy(heap_.get(), undo_copy_region_.get()));
    auto transaction = store_->Begin(absl::InfiniteDuration());
    for (ObjectId& id : ids_) {
      id = *transaction->Alloc(sizeof(kEach));
      std::memcpy(*transaction->Write(id, 0, sizeof(kEach)), &kEach,
                  sizeof(kEach));
    }
    EXPECT_TRUE(transaction->Commit().ok());
  }

  static std::unique_ptr<FileRegion> MakeRegion(const char* name, size_t size) {
    const std::string path =
        absl::StrCat(std::getenv("TEST_TMPDIR"), "/", name);
    std::filesystem::remove(path);
    return *FileRegion::Create(path, size, PmemMode::kForce);
  }

  uint64_t Sum() {
    uint64_t sum = 0;
    for (ObjectId id : ids_) {
      uint64_t value;
      std::memcpy(&value, heap_->Payload(id)->data(), sizeof(value));
      sum += value;
    }
    return sum;
  }

  // False when a lock was not available in time, which breaks deadlocks.
  bool Transfer(std::mt19937* random) {
    const ObjectId from = ids_[(*random)() % kObjects];
    const ObjectId to = ids_[(*random)() % kObjects];
    if (from == to) return true;
    auto transaction = store_->Begin(absl::Milliseconds(20));
    auto a = transaction->Write(from, 0, sizeof(uint64_t));
    if (!a.ok()) return false;
    auto b = transaction->Write(to, 0, sizeof(uint64_t));
    if (!b.ok()) return false;
    uint64_t left;
    uint64_t right;
    std::memcpy(&left, *a, sizeof(left));
    std::memcpy(&right, *b, sizeof(right));
    --left;
    ++right;
    std::memcpy(*a, &left, sizeof(left));
    std::memcpy(*b, &right, sizeof(right));
    if ((*random)() % 4 == 0) return transaction->Abort().ok();
    return transaction->Commit().ok();
  }

  std::unique_ptr<FileRegion> heap_region_;
  std::unique_ptr<FileRegion> undo_copy_region_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<KaminoStore> store_;
  ObjectId ids_[kObjects];
};

TEST_F(UndoCopyPropagatorTest, ConcurrentTransfersKeepTheSum) {
  {
    UndoCopyPropagator propagator(store_.get());
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, t] {
        std::mt19937 random(t);
        for (int i = 0; i < kTransfers; ++i) Transfer(&random);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(Sum(), kObjects * kEach);
  const KaminoStats stats = store_->stats();
  EXPECT_EQ(stats.unpropagated, 0u);
  EXPECT_EQ(stats.locked_objects, 0u);
  EXPECT_GT(stats.committed, 1000u);
  EXPECT_GT(stats.aborted, 300u);
}

}  // namespace
}  // namespace kamino::engine
