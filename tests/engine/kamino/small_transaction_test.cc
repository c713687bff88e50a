// Over a mirror, a small transaction (up to eight ranges of objects that were
// written before) allocates no memory and calls no virtual function of a
// region.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "engine/heap/heap.h"
#include "engine/kamino/kamino_store.h"
#include "engine/pmem/region.h"
#include "engine/transaction.h"
#include "gtest/gtest.h"

namespace {

thread_local uint64_t allocations = 0;

}  // namespace

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size); memory != nullptr) return memory;
  std::abort();
}
void* operator new(size_t size, std::align_val_t alignment) {
  ++allocations;
  const auto unit = static_cast<size_t>(alignment);
  void* memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
  if (memory != nullptr) return memory;
  std::abort();
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace kamino::engine {
namespace {

constexpr size_t kHeapBytes = 8u << 20;
constexpr int kMostRanges = 8;

// Counts calls, and drains of its direct stores.
class CalledRegion final : public Region {
 public:
  explicit CalledRegion(size_t size)
      : size_(size), memory_(std::aligned_alloc(4096, size), &std::free) {
    std::memset(memory_.get(), 0, size);
  }

  std::byte* base() const override {
    ++calls;
    return static_cast<std::byte*>(memory_.get());
  }
  size_t size() const override {
    ++calls;
    return size_;
  }
  void Flush(const void*, size_t) override { ++calls; }
  void Drain() override { ++calls; }
  bool DrainsAll() const override {
    ++calls;
    return true;
  }
  void CopyFlush(void* to, const void* from, size_t length) override {
    ++calls;
    std::memcpy(to, from, length);
  }
  const DirectStores* direct() const override {
    ++calls;
    static const DirectStores kStores = {
        [](void* to, const void* from, size_t length) {
          std::memcpy(to, from, length);
        },
        [](const void*, size_t) {}, [] { ++drains; }};
    return &kStores;
  }

  static inline uint64_t calls = 0;
  static inline uint64_t drains = 0;

 private:
  const size_t size_;
  const std::unique_ptr<void, void (*)(void*)> memory_;
};

class SmallTransactionTest : public ::testing::Test {
 protected:
  SmallTransactionTest() {
    heap_ = *Heap::Create(&heap_region_, "small");
    auto undo_copy = *CreateSimpleUndoCopy(heap_.get(), &copy_region_);
    undo_copy_ = undo_copy.get();
    store_ = *KaminoStore::Open(heap_.get(), std::move(undo_copy));
    const auto transaction = store_->Begin(absl::ZeroDuration());
    for (auto& set : ids_) {
      for (ObjectId& id : set) id = *transaction->Alloc(100);
    }
    EXPECT_TRUE(transaction->Commit().ok());
    store_->Quiesce();
  }

  // Bytes that all differ, so that a test finds each that is not stored.
  static std::array<std::byte, 40> Content() {
    std::array<std::byte, 40> bytes;
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i + 1);
    return bytes;
  }
  // Writes the first `ranges` objects of a set, in turn by bytes and by
  // pointer.
  void RunOne(int ranges, int set) {
    const auto bytes = Content();
    const auto transaction = store_->Begin(absl::ZeroDuration());
    for (int i = 0; i < ranges; ++i) {
      if (i % 2 == 0) {
        EXPECT_TRUE(transaction->Overwrite(ids_[set][i], 8, bytes).ok());
      } else {
        const auto place = transaction->Write(ids_[set][i], 16, bytes.size());
        std::memcpy(*place, bytes.data(), bytes.size());
      }
    }
    EXPECT_TRUE(transaction->Commit().ok());
  }

  CalledRegion heap_region_{kHeapBytes};
  CalledRegion copy_region_{SimpleUndoCopyBytes(kHeapBytes)};
  std::unique_ptr<Heap> heap_;
  UndoCopy* undo_copy_ = nullptr;
  std::unique_ptr<KaminoStore> store_;
  ObjectId ids_[2][kMostRanges];
};

class RangesTest : public SmallTransactionTest,
                   public ::testing::WithParamInterface<int> {};

TEST_P(RangesTest, AllocatesNothingAndCallsNoRegion) {
  const int ranges = GetParam();
  for (int i = 0; i < 4; ++i) RunOne(ranges, i % 2);
  allocations = CalledRegion::calls = CalledRegion::drains = 0;
  constexpr int kTransactions = 100;
  for (int i = 0; i < kTransactions; ++i) RunOne(ranges, i % 2);
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(CalledRegion::calls, 0u);
  EXPECT_EQ(CalledRegion::drains, kTransactions);
}

// Each transaction first propagates the one before, with a drain of its own, to
// take its locks over.
TEST_P(RangesTest, AllocatesNothingForTheSameObjects) {
  const int ranges = GetParam();
  for (int i = 0; i < 4; ++i) RunOne(ranges, 0);
  allocations = CalledRegion::calls = CalledRegion::drains = 0;
  constexpr int kTransactions = 100;
  for (int i = 0; i < kTransactions; ++i) RunOne(ranges, 0);
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(CalledRegion::calls, 0u);
  EXPECT_EQ(CalledRegion::drains, 2 * kTransactions);
}

INSTANTIATE_TEST_SUITE_P(Ranges, RangesTest,
                         ::testing::Values(1, 2, kMostRanges));

TEST_F(SmallTransactionTest, DirectStoresReachTheHeapAndTheCopy) {
  for (int i = 0; i < 4; ++i) RunOne(kMostRanges, i % 2);
  store_->Quiesce();
  const auto bytes = Content();
  for (int i = 0; i < kMostRanges; ++i) {
    const ObjectId id = ids_[0][i];
    const auto payload = *heap_->Payload(id);
    const auto copy = *undo_copy_->Copy(id);
    const auto written = payload.subspan(i % 2 == 0 ? 8 : 16, bytes.size());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), written.begin())) << i;
    EXPECT_EQ(std::memcmp(payload.data(), copy.data(), payload.size()), 0);
  }
}

TEST_F(SmallTransactionTest, TheFirstWriteOfAnObjectCallsTheRegion) {
  EXPECT_GT(allocations, 0u);  // of the store: the operators above are in use
  RunOne(1, 0);
  RunOne(1, 1);
  CalledRegion::calls = 0;
  RunOne(kMostRanges, 0);
  EXPECT_GT(CalledRegion::calls, 0u);
}

}  // namespace
}  // namespace kamino::engine
