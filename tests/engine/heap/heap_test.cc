#include "engine/heap/heap.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/heap/allocator.h"
#include "engine/heap/heap_tiling.h"
#include "engine/pmem/sim_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

using ::testing::HasSubstr;

constexpr size_t kBytes = Heap::kMinBytes;

std::unique_ptr<Heap> MakeHeap(SimRegion* region) {
  auto heap = Heap::Create(region, "cluster/node");
  EXPECT_TRUE(heap.ok()) << heap.status();
  return std::move(*heap);
}

// Allocated like a transaction does it.
ObjectId Allocate(Heap* heap, uint32_t size) {
  auto id = heap->Reserve(size);
  EXPECT_TRUE(id.ok()) << id.status();
  heap->states().MarkAllocated(*id);
  return *id;
}

void Free(Heap* heap, ObjectId id) {
  heap->states().MarkFree(id);
  heap->region()->Drain();
  heap->Release(id);
}

TEST(HeapTest, OpensAHeapThatItCreated) {
  SimRegion region(kBytes);
  const HeapUuid uuid = MakeHeap(&region)->uuid();
  auto heap = Heap::Open(&region);
  ASSERT_TRUE(heap.ok()) << heap.status();
  ASSERT_TRUE((*heap)->Load().ok());
  EXPECT_EQ((*heap)->uuid(), uuid);
  EXPECT_EQ((*heap)->label(), "cluster/node");
  EXPECT_EQ((*heap)->Payload((*heap)->root())->size(), 304u);
  EXPECT_EQ((*heap)->stats().objects, 1u);
}

// Nodes cut free space in different ways: if pages of one are copied to
// another, whose blocks are known, they need not tile.
TEST(HeapTest, IsRetiledFromItsBlockMap) {
  SimRegion region(kBytes);
  auto heap = MakeHeap(&region);
  std::vector<ObjectId> kept;
  std::vector<ObjectId> freed;
  for (int i = 0; i < 300; ++i) {
    (i % 3 == 0 ? freed : kept)
        .push_back(Allocate(heap.get(), 40 + i * 37 % 3000));
  }
  for (ObjectId id : freed) Free(heap.get(), id);
  const HeapStats stats = heap->stats();
  auto blocks = HeapTiling(*heap).AllocatedBlocks();
  ASSERT_TRUE(blocks.ok()) << blocks.status();
  EXPECT_TRUE(blocks->Has(heap->root()));
  for (ObjectId id : kept) EXPECT_TRUE(blocks->Has(id));
  for (ObjectId id : freed) EXPECT_FALSE(blocks->Has(id));
  // The bytes between objects belong to no object.
  for (ObjectId id : freed) {
    std::memset(heap_format::HeaderOf(region.base(), id), 0x4b, 16);
  }
  EXPECT_FALSE(HeapTiling(*heap).AllocatedBlocks().ok());
  ASSERT_TRUE(HeapTiling(*heap).Retile(*blocks).ok());
  region.Drain();
  ASSERT_TRUE(heap->Load().ok());
  EXPECT_EQ(heap->stats().objects, stats.objects);
  EXPECT_EQ(heap->stats().bytes_used, stats.bytes_used);
  // The block map must match the sizes that objects tell.
  blocks->Set(freed[5], true);
  EXPECT_FALSE(HeapTiling(*heap).Retile(*blocks).ok());
  blocks->Set(freed[5], false);
  blocks->Set(kept[7] + 64, true);
  EXPECT_FALSE(HeapTiling(*heap).Retile(*blocks).ok());
}

TEST(HeapTest, ReportsChangedBlocks) {
  SimRegion region(kBytes);
  auto heap = MakeHeap(&region);
  const ObjectId old = Allocate(heap.get(), 100);
  const ObjectId other = Allocate(heap.get(), 100);
  BlockMap before = *HeapTiling(*heap).AllocatedBlocks();
  BlockChanges changes(region.size());
  heap->states().NoteIn(&changes);
  Free(heap.get(), old);
  const ObjectId young = Allocate(heap.get(), 5000);
  const ObjectId passing = Allocate(heap.get(), 300);
  Free(heap.get(), passing);
  heap->states().NoteIn(nullptr);
  for (size_t page = 0; page < before.pages(); ++page) {
    const BlockChanges::Page& changed = changes.page(page);
    before.set_word(page,
                    (before.word(page) & ~changed.touched) | changed.allocated);
  }
  const BlockMap now = *HeapTiling(*heap).AllocatedBlocks();
  for (size_t page = 0; page < now.pages(); ++page) {
    EXPECT_EQ(before.word(page), now.word(page)) << page;
  }
  EXPECT_TRUE(now.Has(other) && now.Has(young));
  EXPECT_FALSE(now.Has(old) || now.Has(passing));
}

TEST(HeapTest, RefusesForeignAndChangedRegions) {
  SimRegion empty(kBytes);
  EXPECT_THAT(std::string(Heap::Open(&empty).status().message()),
              HasSubstr("not a Kamino heap"));

  SimRegion region(kBytes);
  MakeHeap(&region);
  const SimRegion::Image image = region.CrashImage(0);
  {
    SimRegion other = SimRegion(image);
    auto* version = reinterpret_cast<uint32_t*>(other.base() + 8);
    *version = 99;
    auto opened = Heap::Open(&other);
    EXPECT_TRUE(absl::IsFailedPrecondition(opened.status()));
    EXPECT_THAT(std::string(opened.status().message()),
                HasSubstr("version 99"));
  }
  {
    SimRegion other = SimRegion(image);
    other.base()[50] ^= std::byte{1};  // in the label
    EXPECT_TRUE(absl::IsDataLoss(Heap::Open(&other).status()));
  }
  {
    SimRegion other(SimRegion::Image(image.begin(), image.end() - 4096));
    auto opened = Heap::Open(&other);
    EXPECT_TRUE(absl::IsFailedPrecondition(opened.status()));
    EXPECT_THAT(std::string(opened.status().message()), HasSubstr("truncated"));
  }
}

TEST(HeapTest, RefusesInvalidSizesAndLabels) {
  SimRegion small(kBytes / 2);
  EXPECT_TRUE(absl::IsInvalidArgument(Heap::Create(&small, "x").status()));
  SimRegion region(kBytes);
  EXPECT_TRUE(absl::IsInvalidArgument(
      Heap::Create(&region, std::string(128, 'x')).status()));
}

TEST(HeapTest, PayloadOfAnInvalidIdIsNotFound) {
  SimRegion region(kBytes);
  auto heap = MakeHeap(&region);
  const ObjectId id = Allocate(heap.get(), 100);
  EXPECT_TRUE(heap->Payload(id).ok());
  for (ObjectId bad : {ObjectId{0}, id + 1, id + 64, ObjectId{kBytes},
                       ~ObjectId{63}, ~ObjectId{0}}) {
    EXPECT_TRUE(absl::IsNotFound(heap->Payload(bad).status())) << bad;
  }
  Free(heap.get(), id);
  EXPECT_TRUE(absl::IsNotFound(heap->Payload(id).status()));
}

TEST(HeapTest, FreedNeighboursAreMerged) {
  SimRegion region(kBytes);
  auto heap = MakeHeap(&region);
  const uint64_t used = heap->stats().bytes_used;
  std::vector<ObjectId> ids;
  while (true) {
    auto id = heap->Reserve(5000);
    if (!id.ok()) {
      EXPECT_TRUE(absl::IsResourceExhausted(id.status()));
      break;
    }
    heap->states().MarkAllocated(*id);
    ids.push_back(*id);
  }
  EXPECT_GT(ids.size(), 1000u);
  std::shuffle(ids.begin(), ids.end(), std::mt19937(1));
  for (ObjectId id : ids) Free(heap.get(), id);
  EXPECT_EQ(heap->stats().bytes_used, used);
  // Free neighbours became one again.
  EXPECT_TRUE(heap->Reserve(kMaxObjectBytes).ok());
}

// Another heap with a different history takes exactly the same blocks.
TEST(HeapTest, ReserveAtFollowsAnotherHeap) {
  SimRegion leader_region(kBytes);
  SimRegion follower_region(kBytes);
  auto leader = MakeHeap(&leader_region);
  auto follower = MakeHeap(&follower_region);
  std::mt19937 random(7);
  std::vector<ObjectId> live;
  for (int i = 0; i < 5000; ++i) {
    if (live.size() > 200 || (!live.empty() && random() % 3 == 0)) {
      std::swap(live[random() % live.size()], live.back());
      Free(leader.get(), live.back());
      Free(follower.get(), live.back());
      live.pop_back();
      continue;
    }
    // Only the leader also takes space that it gives back: an abort.
    auto aborted = leader->Reserve(1 + random() % 3000);
    ASSERT_TRUE(aborted.ok());
    const ObjectId id = Allocate(leader.get(), 1 + random() % 9000);
    leader->Release(*aborted);
    const uint32_t capacity = leader->Payload(id)->size();
    ASSERT_TRUE(follower->ReserveAt(id, capacity).ok()) << i;
    follower->states().MarkAllocated(id);
    ASSERT_EQ(follower->Payload(id)->size(), capacity);
    live.push_back(id);
  }
  EXPECT_EQ(leader->stats().bytes_used, follower->stats().bytes_used);
  EXPECT_TRUE(absl::IsDataLoss(follower->ReserveAt(live[0], 48)));
  EXPECT_TRUE(absl::IsDataLoss(follower->ReserveAt(kBytes * 2, 48)));
}

// At one drain in 16, loads and checks an image that a crash leaves. `*crashes`
// counts them.
void CrashAtDrains(SimRegion* region, std::mt19937* random, int* crashes,
                   std::function<void(const Heap&)> look) {
  region->SetDrainHook([=] {
    if ((*random)() % 16 != 0) return;
    ++*crashes;
    SimRegion after(region->CrashImage((*random)()));
    auto opened = Heap::Open(&after);
    ASSERT_TRUE(opened.ok()) << opened.status();
    const absl::Status loaded = (*opened)->Load();
    ASSERT_TRUE(loaded.ok()) << loaded;
    look(**opened);
  });
}

// Headers tile at every instant: any image of a crash can be walked, and blocks
// allocated and drained are there.
TEST(HeapTest, TilesAfterACrashAtAnyDrain) {
  SimRegion region(kBytes);
  auto heap = MakeHeap(&region);
  std::map<ObjectId, size_t> durable;
  std::mt19937 random(3);
  int crashes = 0;
  CrashAtDrains(&region, &random, &crashes, [&](const Heap& after) {
    for (const auto& [id, size] : durable) {
      auto payload = after.Payload(id);
      ASSERT_TRUE(payload.ok()) << payload.status();
      ASSERT_EQ(payload->size(), size);
    }
  });
  for (int i = 0; i < 600; ++i) {
    if (durable.size() > 40 || (!durable.empty() && random() % 3 == 0)) {
      const auto victim = std::next(durable.begin(), random() % durable.size());
      const ObjectId id = victim->first;
      durable.erase(victim);
      Free(heap.get(), id);
      continue;
    }
    const ObjectId id = Allocate(heap.get(), 1 + random() % 20000);
    region.Drain();
    durable[id] = heap->Payload(id)->size();
  }
  EXPECT_GT(crashes, 20);
}

// The same for a replica's way to take blocks: from the middle of free space,
// whatever blocks that consists of on media.
TEST(HeapTest, TilesAfterACrashWhileReservingAnywhere) {
  SimRegion region(kBytes);
  auto heap = MakeHeap(&region);
  std::mt19937 random(5);
  int crashes = 0;
  CrashAtDrains(&region, &random, &crashes, [](const Heap&) {});
  const ObjectId begin = heap->root() + 320;
  std::map<ObjectId, uint64_t> model;  // what is taken: id to end
  int taken = 0;
  for (int i = 0; i < 4000; ++i) {
    if (model.size() > 30) {
      const auto victim = std::next(model.begin(), random() % model.size());
      Free(heap.get(), victim->first);
      model.erase(victim);
      continue;
    }
    // In a small part of the heap, so that ranges meet.
    const ObjectId id = begin + random() % 500 * 64;
    const uint64_t bytes = 64 * (1 + random() % 20);
    const auto next = model.lower_bound(id);
    const bool free = (next == model.end() || id + bytes <= next->first) &&
                      (next == model.begin() || std::prev(next)->second <= id);
    const absl::Status status = heap->ReserveAt(id, bytes - 16);
    ASSERT_EQ(status.ok(), free) << i << ": " << status;
    if (!free) continue;
    heap->states().MarkAllocated(id);
    region.Drain();
    // Users' data may look like headers.
    auto payload = heap->Payload(id);
    ASSERT_TRUE(payload.ok()) << payload.status();
    ASSERT_EQ(payload->size(), bytes - 16);
    std::memset(payload->data(), 0xff, payload->size());
    model[id] = id + bytes;
    ++taken;
  }
  EXPECT_GT(taken, 500);
  EXPECT_GT(crashes, 50);
  EXPECT_EQ(heap->stats().objects, model.size() + 1);
}

// A cut that falls on the old start of a block inside the free space: a walk
// must not reach it before the bytes after it are durable.
TEST(HeapTest, TilesWhenACutMeetsAnOldHeader) {
  SimRegion region(kBytes);
  auto heap = MakeHeap(&region);
  std::vector<ObjectId> ids;
  for (int i = 0; i < 3; ++i) {
    const auto id = heap->Reserve(64 * 600 - 16);
    ASSERT_TRUE(id.ok()) << id.status();
    ids.push_back(*id);
    auto payload = heap->BlockPayload(ids.back());
    ASSERT_EQ(payload.size(), 64u * 608 - 16);
    std::memset(payload.data(), 0xff, payload.size());
    region.Flush(payload.data(), payload.size());
  }
  region.Drain();
  for (ObjectId id : ids) heap->Release(id);
  int drains = 0;
  region.SetDrainHook([&] {
    ++drains;
    for (uint64_t seed = 0; seed < 60; ++seed) {
      SimRegion after(region.CrashImage(seed));
      auto opened = Heap::Open(&after);
      ASSERT_TRUE(opened.ok()) << opened.status();
      ASSERT_TRUE((*opened)->Load().ok()) << "seed " << seed;
    }
  });
  // Half the size of the old blocks: every other cut meets one.
  ASSERT_TRUE(heap->ReserveAt(ids[0], 64 * 304 - 16).ok());
  EXPECT_EQ(drains, 3);
}

// A block and its slab cost two drains; the rest of the slab costs none, and
// neither does a released small block.
TEST(HeapTest, SmallBlocksCostFewDrains) {
  SimRegion region(kBytes);
  auto heap = MakeHeap(&region);
  const uint64_t before = region.drains();
  std::vector<ObjectId> ids;
  for (int i = 0; i < 320; ++i) ids.push_back(*heap->Reserve(1000));
  EXPECT_LE(region.drains() - before, 2u * 320 / 32);
  const uint64_t full = region.drains();
  for (int i = 0; i < 1000; ++i) {
    heap->Release(ids.back());
    ids.back() = *heap->Reserve(1000);
  }
  EXPECT_EQ(region.drains(), full);
}

TEST(HeapTest, CreateOverAnOlderHeapIsAllOrNothing) {
  SimRegion region(kBytes);
  MakeHeap(&region);
  int refused = 0;
  int opened = 0;
  std::mt19937 random(11);
  region.SetDrainHook([&] {
    for (int i = 0; i < 10; ++i) {
      SimRegion after(region.CrashImage(random()));
      auto heap = Heap::Open(&after);
      if (!heap.ok()) {
        ++refused;
        continue;
      }
      ++opened;
      EXPECT_TRUE((*heap)->Load().ok());
    }
  });
  ASSERT_TRUE(Heap::Create(&region, "another").ok());
  EXPECT_GT(refused, 0);
  EXPECT_GT(opened, 0);
}

TEST(SizeClassTest, WasteIsBoundedAndClassesAreFew) {
  const uint64_t largest = heap_format::UnitsFor(kMaxObjectBytes);
  std::set<uint64_t> classes;
  for (uint64_t units = 1; units <= largest; ++units) {
    const uint64_t size = SizeClass(units);
    ASSERT_GE(size, units);
    ASSERT_LE(size - units, units / 16);
    ASSERT_EQ(SizeClass(size), size);
    classes.insert(size);
  }
  EXPECT_EQ(*classes.rbegin(), largest);
  EXPECT_LT(classes.size(), 200u);
}

}  // namespace
}  // namespace kamino::engine
