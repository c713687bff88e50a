// The free space that a heap keeps for its owner.
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kKept = 16 * kPage;
constexpr uint32_t kPagePayload = kPage - 16;

class ReserveTest : public ::testing::Test {
 protected:
  ReserveTest() : region_(Heap::kMinBytes) {
    auto heap = Heap::Create(&region_, "cluster/node");
    EXPECT_TRUE(heap.ok()) << heap.status();
    heap_ = std::move(*heap);
  }

  // Reserves blocks until there is no room; `may_cut`: the reserve may be used.
  std::vector<ObjectId> Fill(uint32_t size, bool may_cut = false) {
    std::vector<ObjectId> taken;
    for (;;) {
      auto id = heap_->Reserve(size, may_cut);
      if (!id.ok()) {
        EXPECT_TRUE(absl::IsResourceExhausted(id.status())) << id.status();
        return taken;
      }
      taken.push_back(*id);
    }
  }

  // Reserves blocks of all sizes, until there is room for none.
  void FillAll(bool may_cut = false) {
    for (uint32_t size : {100000u, 30000u, 3000u, 700u, 100u, 20u}) {
      Fill(size, may_cut);
    }
  }

  uint64_t Free() const {
    const HeapStats stats = heap_->stats();
    return stats.bytes_total - stats.bytes_used;
  }
  uint64_t Whole() const { return heap_->reserve().bytes_whole; }
  uint64_t Cuts() const { return heap_->reserve().cuts; }

  SimRegion region_;
  std::unique_ptr<Heap> heap_;
};

TEST_F(ReserveTest, WithoutAReserveAllSpaceIsUsed) {
  FillAll();
  EXPECT_EQ(Free(), 0u);
  EXPECT_EQ(Cuts(), 0u);
}

TEST_F(ReserveTest, TheReserveKeepsTheLastSpace) {
  heap_->KeepReserve(kKept);
  FillAll();
  EXPECT_EQ(Cuts(), 0u);
  EXPECT_GE(Whole(), kKept);
  EXPECT_LT(Free(), kKept + 2 * kPage);
}

// So that it serves any request: outcomes as well as pages.
TEST_F(ReserveTest, TheReserveIsWholeInAFragmentedHeap) {
  heap_->KeepReserve(kKept);
  const std::vector<ObjectId> small = Fill(100);
  for (size_t i = 0; i < small.size(); i += 2) heap_->Release(small[i]);
  Fill(30);
  EXPECT_GE(Whole(), kKept);
  uint64_t pages = 0;
  while (heap_->Reserve(kPagePayload).ok()) ++pages;
  EXPECT_EQ(pages, kKept / kPage);
  EXPECT_EQ(Cuts(), pages);
}

TEST_F(ReserveTest, ACutTakesNoMoreThanItsBlock) {
  heap_->KeepReserve(kKept);
  FillAll();
  const uint64_t whole = Whole();
  // No slab of blocks of its size, which others would then take uncounted.
  auto id = heap_->Reserve(100);
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(Cuts(), 1u);
  EXPECT_EQ(Whole(), whole - 128);
  EXPECT_FALSE(heap_->Reserve(100, /*may_cut=*/false).ok());
}

// A released block fills the reserve again.
TEST_F(ReserveTest, AReleasedBlockRefillsTheReserve) {
  heap_->KeepReserve(kKept);
  FillAll();
  const uint64_t whole = Whole();
  for (int i = 0; i < 100; ++i) {
    auto id = heap_->Reserve(100);
    ASSERT_TRUE(id.ok()) << id.status();
    EXPECT_EQ(Cuts(), i + 1u);
    heap_->Release(*id);
    ASSERT_EQ(Whole(), whole) << i;
  }
}

// Requests use free blocks of their size before the reserve.
TEST_F(ReserveTest, OtherFreeSpaceIsUsedFirst) {
  heap_->KeepReserve(kKept);
  const std::vector<ObjectId> large = Fill(3000);
  FillAll();
  // Two that are not adjacent, so that they make no whole page.
  heap_->Release(large[10]);
  heap_->Release(large[20]);
  uint64_t small = 0;
  while (heap_->Reserve(100, /*may_cut=*/false).ok()) ++small;
  EXPECT_GE(small, 2 * 3000 / 128u);
  EXPECT_EQ(Cuts(), 0u);
  EXPECT_GE(Whole(), kKept);
}

// A heap that was filled when nothing was reserved.
TEST_F(ReserveTest, AFullHeapRefillsTheReserveFirst) {
  const std::vector<ObjectId> large = Fill(3000);
  FillAll();
  ASSERT_EQ(Free(), 0u);
  heap_->KeepReserve(kKept);
  EXPECT_FALSE(heap_->Reserve(20).ok());
  size_t given = 0;
  while (Free() < kKept) {
    heap_->Release(large[2 * given++]);
    if (Free() < kKept) {
      EXPECT_FALSE(heap_->Reserve(20, /*may_cut=*/false).ok());
    }
  }
  // In holes, none of which is a whole page.
  Fill(100);
  EXPECT_EQ(Whole(), 0u);
  EXPECT_TRUE(heap_->Reserve(100).ok());
  EXPECT_EQ(Cuts(), 1u);
  // Whole once their neighbours are free.
  for (size_t i = 0; i < 2 * given; ++i) heap_->Release(large[2 * i + 1]);
  EXPECT_GE(Whole(), kKept);
  EXPECT_TRUE(heap_->Reserve(100, /*may_cut=*/false).ok());
  EXPECT_EQ(Cuts(), 1u);
}

TEST_F(ReserveTest, TheReserveCanBeGivenUp) {
  heap_->KeepReserve(kKept);
  FillAll();
  heap_->KeepReserve(0);
  FillAll();
  EXPECT_EQ(Free(), 0u);
  EXPECT_EQ(Cuts(), 0u);
}

// Another node's blocks are taken wherever they are.
TEST_F(ReserveTest, ReserveAtMayUseTheReserve) {
  heap_->KeepReserve(kKept);
  FillAll();
  auto id = heap_->Reserve(kPagePayload);
  ASSERT_TRUE(id.ok());
  heap_->Release(*id);
  EXPECT_TRUE(heap_->ReserveAt(*id, kPagePayload).ok());
  EXPECT_EQ(Cuts(), 1u);
  EXPECT_LT(Whole(), kKept);
}

TEST_F(ReserveTest, LoadRestoresTheReserve) {
  heap_->KeepReserve(kKept);
  FillAll();
  ASSERT_TRUE(heap_->Load().ok());  // forgets what was taken
  EXPECT_EQ(heap_->reserve().bytes_kept, kKept);
  EXPECT_EQ(Whole(), Free());
  FillAll();
  EXPECT_GE(Whole(), kKept);
}

}  // namespace
}  // namespace kamino::engine
