#include "engine/kamino/range_walk.h"

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "engine/heap/heap.h"
#include "engine/heap/heap_format.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

constexpr size_t kHeapBytes = 4u << 20;
constexpr uint64_t kRangeBytes = 64u << 10;
constexpr size_t kAll = 1u << 20;

// A heap of one node of a chain.
struct Node {
  Node()
      : region(kHeapBytes),
        heap(*Heap::CreateWithLog(&region, "test", 4096)),
        walk(heap.get(), kRangeBytes) {}

  void Make(ObjectId id, char byte) {
    const auto payload = heap->BlockPayload(id);
    std::memset(payload.data(), byte, payload.size());
    heap->states().MarkAllocated(id);
  }
  void Free(ObjectId id) {
    heap->states().MarkFree(id);
    heap->Release(id);
  }
  uint64_t Digest(uint64_t range) {
    EXPECT_TRUE(walk.Reach(range, kAll));
    return walk.Digest(range);
  }
  std::vector<uint64_t> Digests() {
    std::vector<uint64_t> digests;
    for (uint64_t range = 0; range < walk.ranges(); ++range) {
      digests.push_back(Digest(range));
    }
    return digests;
  }

  SimRegion region;
  std::unique_ptr<Heap> heap;
  RangeWalk walk;
};

// The head takes space, and at times releases it at once, as aborts do; the
// other node takes the same.
class RangeWalkTest : public ::testing::Test {
 protected:
  void Alloc(uint32_t size, char byte) {
    const auto id = head_.heap->Reserve(size);
    ASSERT_TRUE(id.ok());
    const size_t capacity = head_.heap->BlockPayload(*id).size();
    ASSERT_TRUE(
        other_.heap->ReserveAt(*id, static_cast<uint32_t>(capacity)).ok());
    head_.Make(*id, byte);
    other_.Make(*id, byte);
    objects_.push_back(*id);
  }
  void AbortAlloc(uint32_t size) {
    const auto id = head_.heap->Reserve(size);
    if (!id.ok()) return;
    const auto payload = head_.heap->BlockPayload(*id);
    std::memset(payload.data(), 'x', payload.size());
    head_.heap->Release(*id);
  }
  void Free(size_t which) {
    head_.Free(objects_[which]);
    other_.Free(objects_[which]);
    objects_.erase(objects_.begin() + static_cast<long>(which));
  }
  void Fill() {
    for (int i = 0; i < 200; ++i) {
      Alloc(static_cast<uint32_t>(1 + random_() % 9000),
            static_cast<char>('a' + i % 26));
    }
  }

  std::mt19937 random_{7};
  Node head_;
  Node other_;
  std::vector<ObjectId> objects_;
};

TEST_F(RangeWalkTest, NodesWithOneHistoryHaveEqualDigests) {
  EXPECT_EQ(head_.Digests(), other_.Digests());
  for (int step = 0; step < 3000; ++step) {
    const uint32_t size = random_() % 20 == 0
                              ? 200000
                              : static_cast<uint32_t>(1 + random_() % 3000);
    if (random_() % 3 == 0) AbortAlloc(size);
    if (objects_.size() > 300 || (random_() % 3 == 0 && !objects_.empty())) {
      Free(random_() % objects_.size());
    } else if (head_.heap->stats().bytes_used < kHeapBytes / 2) {
      Alloc(size, static_cast<char>(step));
    }
    // Walks continue while the heap changes.
    const uint64_t range = random_() % head_.walk.ranges();
    ASSERT_EQ(head_.Digest(range), other_.Digest(range)) << step;
    ASSERT_EQ(head_.Digest(range), head_.Digest(range)) << step;
  }
  EXPECT_EQ(head_.Digests(), other_.Digests());
  // Nor does the division of free space matter, as after a restart.
  ASSERT_TRUE(other_.heap->Load().ok());
  EXPECT_EQ(head_.Digests(), other_.Digests());
}

TEST_F(RangeWalkTest, EachBitOfAnObjectChangesTheDigest) {
  Fill();
  const std::vector<uint64_t> before = head_.Digests();
  for (ObjectId id : objects_) {
    const uint64_t range = head_.walk.RangeOf(id);
    const auto payload = head_.heap->BlockPayload(id);
    for (size_t at : {size_t{0}, payload.size() / 2, payload.size() - 1}) {
      payload[at] ^= std::byte{16};
      EXPECT_NE(head_.Digest(range), before[range]);
      payload[at] ^= std::byte{16};
    }
    EXPECT_EQ(head_.Digest(range), before[range]);
  }
}

TEST_F(RangeWalkTest, DamagedHeadersChangeTheDigest) {
  Fill();
  const std::vector<uint64_t> before = head_.Digests();
  for (size_t i = 0; i < objects_.size(); i += 10) {
    const uint64_t range = head_.walk.RangeOf(objects_[i]);
    uint64_t& word =
        heap_format::HeaderOf(head_.region.base(), objects_[i])->word;
    for (int bit = 0; bit < 64; bit += 3) {
      word ^= uint64_t{1} << bit;
      EXPECT_NE(head_.Digest(range), before[range]) << bit;
      word ^= uint64_t{1} << bit;
    }
  }
}

TEST_F(RangeWalkTest, FreeSpaceDoesNotChangeTheDigest) {
  Fill();
  const std::vector<uint64_t> before = head_.Digests();
  const ObjectId freed = objects_[50];
  head_.Free(freed);
  const std::vector<uint64_t> after = head_.Digests();
  EXPECT_NE(after, before);
  std::memset(head_.region.base() + freed, '?', 8);
  EXPECT_EQ(head_.Digests(), after);
}

TEST_F(RangeWalkTest, ADigestIsComputedInSteps) {
  Fill();
  const uint64_t last = head_.walk.RangeOf(objects_.back());
  const std::vector<uint64_t> digests = head_.Digests();
  ASSERT_TRUE(head_.heap->Load().ok());
  int pieces = 1;
  while (!head_.walk.Reach(last, 10)) ++pieces;
  EXPECT_GT(pieces, 10);
  EXPECT_EQ(head_.walk.Digest(last), digests[last]);
  // The next one, and the same again, at once.
  EXPECT_TRUE(head_.walk.Reach(last, 1));
  EXPECT_EQ(head_.walk.Digest(last), digests[last]);
  EXPECT_TRUE(head_.walk.Reach(last + 1, 1));
  EXPECT_EQ(head_.walk.Digest(last + 1), digests[last + 1]);
}

TEST_F(RangeWalkTest, ALargeObjectBelongsToItsFirstRange) {
  Alloc(1u << 20, 'l');
  const uint64_t range = head_.walk.RangeOf(objects_[0]);
  const std::vector<uint64_t> before = head_.Digests();
  EXPECT_EQ(before, other_.Digests());
  head_.region.base()[objects_[0] + (1u << 20) - 1] ^= std::byte{1};
  const std::vector<uint64_t> after = head_.Digests();
  for (uint64_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i] == after[i], i != range) << i;
  }
}

}  // namespace
}  // namespace kamino::engine
