// The cost and the bounds of each baseline on kamino's heap.
#include "engine/baselines/heap_store.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "engine/resource_error.h"
#include "gtest/gtest.h"
#include "tests/engine/baselines/one_store.h"

namespace kamino::engine {
namespace {

constexpr HeapScheme kUndo = HeapScheme::kUndo;
constexpr HeapScheme kCow = HeapScheme::kCopyOnWrite;
constexpr HeapScheme kUnsafe = HeapScheme::kUnsafe;

class HeapStoreTest : public OneStoreTest<HeapStore> {
 protected:
  void Open(HeapScheme scheme) {
    store_.reset();
    heap_ = *Heap::Create(&region_, HeapSchemeName(scheme));
    store_ = *HeapStore::Open(scheme, heap_.get());
  }
};

// The figures that heap_store.h gives.
TEST_F(HeapStoreTest, ACommitTakesTheDocumentedDrains) {
  struct Expected {
    HeapScheme scheme;
    uint64_t one;   // range
    uint64_t four;  // ranges
    uint64_t none;  // reading only
  };
  for (const Expected& expected :
       {Expected{kUndo, 3, 6, 0}, {kCow, 3, 3, 0}, {kUnsafe, 1, 1, 0}}) {
    Open(expected.scheme);
    const ObjectId id = Make(1000);
    const auto drains_of = [&](int ranges) {
      const uint64_t before = region_.drains();
      auto transaction = Begin();
      EXPECT_TRUE(transaction->Read(id).ok());
      for (int i = 0; i < ranges; ++i) {
        // The second declaration is covered.
        EXPECT_TRUE(transaction->Write(id, 100 * i, 100).ok());
        EXPECT_TRUE(transaction->Write(id, 100 * i + 10, 20).ok());
      }
      EXPECT_TRUE(transaction->Commit().ok());
      return region_.drains() - before;
    };
    EXPECT_EQ(drains_of(1), expected.one) << store_->scheme();
    EXPECT_EQ(drains_of(4), expected.four) << store_->scheme();
    EXPECT_EQ(drains_of(0), expected.none) << store_->scheme();
  }
}

// The cost of the paper's rivals for four stores of one transaction.
TEST_F(HeapStoreTest, RivalsTakeTheirExpectedDrains) {
  struct Expected {
    HeapScheme scheme;
    uint64_t bytes;     // by Overwrite
    uint64_t pointers;  // by Write
  };
  for (const Expected& expected :
       {Expected{HeapScheme::kUnsafeEach, 4, 4},
        {HeapScheme::kCached, 0, 0},
        // Old and new bytes of each store, and the end.
        {HeapScheme::kUndoEach, 9, 9}}) {
    Open(expected.scheme);
    const ObjectId id = Make(1000);
    const std::vector<std::byte> word(8, std::byte{7});
    for (const bool pointer : {false, true}) {
      const uint64_t before = region_.drains();
      auto transaction = Begin();
      for (uint32_t i = 0; i < 4; ++i) {
        if (pointer) {
          const auto place = transaction->Write(id, 100 * i, 8);
          ASSERT_TRUE(place.ok());
          std::memcpy(*place, word.data(), 8);
        } else {
          ASSERT_TRUE(transaction->Overwrite(id, 100 * i, word).ok());
        }
      }
      ASSERT_TRUE(transaction->Commit().ok());
      EXPECT_EQ(region_.drains() - before,
                pointer ? expected.pointers : expected.bytes)
          << store_->scheme();
      EXPECT_EQ((*Begin()->Read(id))[300], std::byte{7}) << store_->scheme();
    }
  }
}

TEST_F(HeapStoreTest, RivalsReuseFreedSpace) {
  for (HeapScheme scheme :
       {HeapScheme::kUnsafeEach, HeapScheme::kCached, HeapScheme::kUndoEach}) {
    Open(scheme);
    const uint64_t used = heap_->stats().bytes_used;
    const ObjectId id = Make(1000);
    EXPECT_GT(heap_->stats().bytes_used, used);
    auto transaction = Begin();
    ASSERT_TRUE(transaction->Free(id).ok());
    ASSERT_TRUE(transaction->Commit().ok());
    EXPECT_EQ(heap_->stats().bytes_used, used) << store_->scheme();
    EXPECT_FALSE(Begin()->Read(id).ok());
  }
}

TEST_F(HeapStoreTest, NamesMapToSchemes) {
  for (HeapScheme scheme :
       {HeapScheme::kUndo, HeapScheme::kCopyOnWrite, HeapScheme::kUnsafe,
        HeapScheme::kUnsafeEach, HeapScheme::kCached, HeapScheme::kUndoEach}) {
    EXPECT_EQ(HeapSchemeNamed(HeapSchemeName(scheme)), scheme);
  }
  EXPECT_EQ(HeapSchemeNamed("nobody"), std::nullopt);
  EXPECT_TRUE(IsAtomic(HeapScheme::kUndoEach));
  EXPECT_FALSE(IsAtomic(HeapScheme::kCached));
}

TEST_F(HeapStoreTest, RangesDeclaredTogetherShareADrain) {
  Open(kUndo);
  const ObjectId one = Make(1000);
  const ObjectId two = Make(1000);
  const uint64_t before = region_.drains();
  auto transaction = Begin();
  std::vector<Intent> intents;
  for (uint32_t i = 0; i < 20; ++i) {
    intents.push_back({i % 2 == 0 ? one : two, 40 * i, 30});
  }
  ASSERT_TRUE(transaction->Declare(intents).ok());
  EXPECT_EQ(region_.drains() - before, 1u);
  for (const Intent& intent : intents) {
    ASSERT_TRUE(transaction->Write(intent.object, intent.offset + 5, 20).ok());
  }
  EXPECT_EQ(region_.drains() - before, 1u);
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(region_.drains() - before, 3u);
}

// Allocating and freeing wait for no extra drain where one comes anyway.
TEST_F(HeapStoreTest, AllocAddsNoDrain) {
  Open(kUndo);
  const ObjectId id = Make(1000);
  Make(100);  // and brings more of its size along
  auto transaction = Begin();
  const uint64_t before = region_.drains();
  ASSERT_TRUE(transaction->Alloc(100).ok());
  ASSERT_TRUE(transaction->Alloc(100).ok());
  ASSERT_TRUE(transaction->Write(id, 0, 8).ok());
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(region_.drains() - before, 3u);
}

TEST_F(HeapStoreTest, SlotsLimitUndoTransactions) {
  for (HeapScheme scheme : {kUndo, kCow}) {
    Open(scheme);
    std::vector<ObjectId> ids;
    for (int i = 0; i < 65; ++i) ids.push_back(Make(10));
    std::vector<std::unique_ptr<Transaction>> live;
    absl::Status status;
    for (ObjectId id : ids) {
      ASSERT_TRUE(status.ok()) << status;
      live.push_back(Begin());
      status = live.back()->Write(id, 0, 10).status();
    }
    if (scheme == kUndo) {
      EXPECT_EQ(ResourceOf(status), Resource::kLog) << status;
    } else {
      // It needs a slot at commit only.
      EXPECT_TRUE(status.ok()) << status;
    }
    for (auto& transaction : live) {
      ASSERT_TRUE(transaction->Abort().ok());
    }
    auto after = Begin();
    ASSERT_TRUE(after->Write(ids.back(), 0, 10).ok());
    ASSERT_TRUE(after->Commit().ok());
  }
}

// A log that cannot grow is an error, and leaves everything as before.
TEST_F(HeapStoreTest, ALogThatCannotGrowIsAHarmlessError) {
  for (HeapScheme scheme : {kUndo, kCow}) {
    Open(scheme);
    const ObjectId id = Make(1 << 20);
    {
      auto fill = Begin();
      while (fill->Alloc(60 << 10).ok()) {
      }
      ASSERT_TRUE(fill->Commit().ok());
    }
    const HeapStats before = heap_->stats();
    for (int round = 0; round < 2; ++round) {
      auto transaction = Begin();
      auto bytes = transaction->Write(id, 0, 1 << 20);
      absl::Status status = bytes.status();
      if (scheme == kCow) {
        ASSERT_TRUE(status.ok()) << status;
        std::memset(*bytes, 'x', 1 << 20);
        status = transaction->Commit();
      } else if (round == 0) {
        ASSERT_TRUE(transaction->Abort().ok());
      } else {
        // It returns the same error.
        EXPECT_EQ(transaction->Commit(), status);
      }
      EXPECT_EQ(ResourceOf(status), Resource::kTransaction) << status;
      EXPECT_EQ((*Begin()->Read(id))[0], std::byte{0});
      EXPECT_EQ(heap_->stats().bytes_used, before.bytes_used);
    }
    // A transaction that fits in the slot still succeeds.
    auto small = Begin();
    ASSERT_TRUE(small->Write(id, 0, 1000).ok());
    ASSERT_TRUE(small->Commit().ok());
  }
}

TEST_F(HeapStoreTest, LogSpaceIsReleased) {
  for (HeapScheme scheme : {kUndo, kCow}) {
    Open(scheme);
    const ObjectId id = Make(1 << 20);
    const HeapStats before = heap_->stats();
    for (const bool commit : {true, false}) {
      auto transaction = Begin();
      ASSERT_TRUE(transaction->Write(id, 0, 1 << 20).ok());
      ASSERT_TRUE((commit ? transaction->Commit() : transaction->Abort()).ok());
      EXPECT_EQ(heap_->stats().bytes_used, before.bytes_used);
      EXPECT_EQ(heap_->stats().objects, before.objects);
    }
  }
}

TEST_F(HeapStoreTest, HoldingLocksIsNotImplemented) {
  Open(kUndo);
  const ObjectId id = Make(10);
  auto transaction = Begin();
  std::memset(*transaction->Write(id, 0, 10), 'x', 10);
  CommitOptions options;
  options.hold_locks = true;
  EXPECT_TRUE(absl::IsUnimplemented(transaction->Commit(options)));
  EXPECT_EQ((*Begin()->Read(id))[0], std::byte{0});
}

}  // namespace
}  // namespace kamino::engine
