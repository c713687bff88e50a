// Threads that share a heap. Separate from heap_test, for ThreadSanitizer.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/heap/heap.h"
#include "engine/pmem/file_region.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

TEST(HeapThreadsTest, ThreadsAllocateWithoutOverlap) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/threads";
  auto region = FileRegion::Create(path, Heap::kMinBytes, PmemMode::kForce);
  ASSERT_TRUE(region.ok()) << region.status();
  auto heap = Heap::Create(region->get(), "x");
  ASSERT_TRUE(heap.ok()) << heap.status();
  std::vector<std::vector<ObjectId>> kept(2);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kept.size(); ++t) {
    threads.emplace_back([&heap = *heap, &mine = kept[t], t] {
      std::mt19937 random(t);
      for (int i = 0; i < 3000; ++i) {
        if (mine.size() > 100) {
          std::swap(mine[random() % mine.size()], mine.back());
          heap->states().MarkFree(mine.back());
          heap->region()->Drain();
          heap->Release(mine.back());
          mine.pop_back();
        }
        auto id = heap->Reserve(1 + random() % 5000);
        ASSERT_TRUE(id.ok()) << id.status();
        heap->states().MarkAllocated(*id);
        mine.push_back(*id);
        auto payload = heap->Payload(*id);
        ASSERT_TRUE(payload.ok());
        std::memset(payload->data(), static_cast<int>(t), payload->size());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  const HeapStats stats = (*heap)->stats();
  auto opened = Heap::Open(region->get());
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_TRUE((*opened)->Load().ok());
  EXPECT_EQ((*opened)->stats().bytes_used, stats.bytes_used);
  EXPECT_EQ((*opened)->stats().objects, 1 + kept[0].size() + kept[1].size());
  for (size_t t = 0; t < kept.size(); ++t) {
    for (ObjectId id : kept[t]) {
      auto payload = (*opened)->Payload(id);
      ASSERT_TRUE(payload.ok()) << payload.status();
      EXPECT_EQ(std::count(payload->begin(), payload->end(), std::byte(t)),
                static_cast<ptrdiff_t>(payload->size()));
    }
  }
}

}  // namespace
}  // namespace kamino::engine
