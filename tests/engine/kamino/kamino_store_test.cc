#include "engine/kamino/kamino_store.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/resource_error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

class KaminoStoreTest : public ::testing::TestWithParam<Scheme> {
 protected:
  KaminoStoreTest() : under_(GetParam()) {
    under_.store().SetUnlockListener([this](absl::Span<const ObjectId> ids) {
      unlocked_.insert(unlocked_.end(), ids.begin(), ids.end());
    });
  }

  StoreUnderTest under_;
  std::vector<ObjectId> unlocked_;
};

TEST_P(KaminoStoreTest, CommitKeepsAndAbortRollsBack) {
  const ObjectId id = under_.Make("first");
  auto transaction = under_.Begin();
  Overwrite(*transaction, id, "other");
  EXPECT_EQ(under_.Text(id, 5), "other");  // in place
  ASSERT_TRUE(transaction->Abort().ok());
  EXPECT_EQ(under_.Text(id, 5), "first");

  transaction = under_.Begin();
  Overwrite(*transaction, id, "third");
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(under_.Text(id, 5), "third");
}

// Words of 8 bytes go to the undo copy: those of a range include bytes of its
// neighbour, which may change until the commit.
TEST_P(KaminoStoreTest, StoresThroughAnEarlierPointerReachTheUndoCopy) {
  const ObjectId id = under_.Make("aaaabbbbcccc");
  auto transaction = under_.Begin();
  std::byte* pointer = *transaction->Write(id, 0, 4);
  const std::string middle = "BBBB";
  ASSERT_TRUE(
      transaction
          ->Overwrite(id, 4,
                      {reinterpret_cast<const std::byte*>(middle.data()),
                       middle.size()})
          .ok());
  ASSERT_TRUE(transaction->Read(id).ok());
  std::memcpy(pointer, "AAAA", 4);
  ASSERT_TRUE(transaction->Commit().ok());
  under_.Propagate();
  EXPECT_EQ(under_.Text(id, 12), "AAAABBBBcccc");

  transaction = under_.Begin();
  Overwrite(*transaction, id, "############");
  ASSERT_TRUE(transaction->Abort().ok());
  EXPECT_EQ(under_.Text(id, 12), "AAAABBBBcccc");
}

TEST_P(KaminoStoreTest, DestroyingALiveTransactionAborts) {
  const ObjectId id = under_.Make("first");
  {
    auto transaction = under_.Begin();
    Overwrite(*transaction, id, "other");
  }
  EXPECT_EQ(under_.Text(id, 5), "first");
  EXPECT_EQ(under_.store().stats().locked_objects, 0u);
}

TEST_P(KaminoStoreTest, AbortedAllocationsAndFreesLeaveNoTrace) {
  const ObjectId id = under_.Make("stays");
  const HeapStats before = under_.heap().stats();
  auto transaction = under_.Begin();
  const ObjectId made = *transaction->Alloc(1000);
  ASSERT_TRUE(transaction->Free(id).ok());
  EXPECT_TRUE(absl::IsNotFound(transaction->Read(id).status()));
  EXPECT_TRUE(absl::IsNotFound(transaction->Free(id)));
  EXPECT_TRUE(absl::IsNotFound(transaction->Write(id, 0, 1).status()));
  ASSERT_TRUE(transaction->Abort().ok());
  EXPECT_EQ(under_.Text(id, 5), "stays");
  EXPECT_TRUE(absl::IsNotFound(under_.heap().Payload(made).status()));
  EXPECT_EQ(under_.heap().stats().bytes_used, before.bytes_used);
}

TEST_P(KaminoStoreTest, AllocAndFreeInOneTransactionLeaveNoObject) {
  const HeapStats before = under_.heap().stats();
  auto transaction = under_.Begin();
  const ObjectId made = *transaction->Alloc(1000);
  ASSERT_TRUE(transaction->Free(made).ok());
  ASSERT_TRUE(transaction->Commit().ok());
  under_.Propagate();
  EXPECT_TRUE(absl::IsNotFound(under_.heap().Payload(made).status()));
  EXPECT_EQ(under_.heap().stats().bytes_used, before.bytes_used);
}

TEST_P(KaminoStoreTest, AnObjectIsLockedUntilItIsInTheUndoCopy) {
  const ObjectId id = under_.Make("first");
  auto writer = under_.Begin();
  Overwrite(*writer, id, "other");
  ASSERT_TRUE(writer->Commit().ok());

  EXPECT_EQ(under_.store().stats().unpropagated, 1u);
  EXPECT_EQ(under_.store().stats().locked_objects, 1u);
  auto reader = under_.Begin();
  if (!IsLater(GetParam())) {
    // A dependent transaction completes its propagation.
    EXPECT_TRUE(reader->Read(id).ok());
    EXPECT_THAT(unlocked_, Contains(id));
    return;
  }
  EXPECT_TRUE(absl::IsAborted(reader->Read(id).status()));
  EXPECT_EQ(reader->conflict(), id);
  ASSERT_TRUE(reader->Abort().ok());

  unlocked_.clear();
  EXPECT_EQ(under_.store().PropagateToUndoCopy(10), 0u);
  EXPECT_THAT(unlocked_, ElementsAre(id));
  auto second = under_.Begin();
  EXPECT_TRUE(second->Read(id).ok());
}

TEST_P(KaminoStoreTest, AHoldLastsUntilReleaseAndPropagation) {
  const ObjectId id = under_.Make("first");
  CommitOptions options;
  options.hold_locks = true;
  for (const bool release_first : {false, true}) {
    options.sequence += 1;
    auto writer = under_.Begin();
    Overwrite(*writer, id, "again");
    ASSERT_TRUE(writer->Commit(options).ok());
    unlocked_.clear();
    if (release_first) under_.store().ReleaseHold(options.sequence);
    under_.Propagate();
    if (!release_first) {
      EXPECT_TRUE(unlocked_.empty());
      EXPECT_EQ(under_.store().stats().held, 1u);
      under_.store().ReleaseHold(options.sequence);
    }
    EXPECT_THAT(unlocked_, ElementsAre(id)) << release_first;
  }
}

TEST_P(KaminoStoreTest, SharedLocksEndWithTheirTransaction) {
  const ObjectId id = under_.Make("first");
  auto one = under_.Begin();
  auto two = under_.Begin();
  EXPECT_TRUE(one->Read(id).ok());
  EXPECT_TRUE(two->Read(id).ok());
  EXPECT_TRUE(absl::IsAborted(two->Write(id, 0, 1).status()));
  ASSERT_TRUE(two->Abort().ok());
  EXPECT_TRUE(one->Write(id, 0, 1).ok());  // upgrades its own
  ASSERT_TRUE(one->Commit().ok());
}

TEST_P(KaminoStoreTest, FreedSpaceIsNotReusedWhileLocked) {
  const ObjectId id = under_.Make(std::string(1000, 'x'));
  auto transaction = under_.Begin();
  ASSERT_TRUE(transaction->Free(id).ok());
  ASSERT_TRUE(transaction->Commit().ok());
  for (int i = 0; i < 3; ++i) {
    auto other = under_.Begin();
    EXPECT_NE(*other->Alloc(1000), id);
    ASSERT_TRUE(other->Abort().ok());
  }
  under_.Propagate();
  auto other = under_.Begin();
  EXPECT_EQ(*other->Alloc(1000), id);
}

// A transaction may ask for an id of the past.
TEST_P(KaminoStoreTest, AllocConflictsWithALockOnAFreedObject) {
  const ObjectId gone = under_.Make(std::string(1000, 'x'));
  {
    auto transaction = under_.Begin();
    ASSERT_TRUE(transaction->Free(gone).ok());
    ASSERT_TRUE(transaction->Commit().ok());
  }
  under_.Propagate();
  const HeapStats before = under_.heap().stats();
  auto stale = under_.Begin();
  EXPECT_TRUE(absl::IsNotFound(stale->Read(gone).status()));

  auto transaction = under_.Begin();
  EXPECT_TRUE(absl::IsAborted(transaction->Alloc(1000).status()));
  EXPECT_EQ(transaction->conflict(), gone);
  ASSERT_TRUE(transaction->Abort().ok());
  EXPECT_EQ(under_.heap().stats().bytes_used, before.bytes_used);

  ASSERT_TRUE(stale->Abort().ok());
  transaction = under_.Begin();
  EXPECT_EQ(*transaction->Alloc(1000), gone);
}

TEST_P(KaminoStoreTest, BeforeMarkSeesTheWriteSetAndCanRefuse) {
  const ObjectId id = under_.Make("first");
  auto transaction = under_.Begin();
  Overwrite(*transaction, id, "other");
  ASSERT_TRUE(transaction->Free(id).ok());
  WriteSet seen;
  const auto refuse = [&](const WriteSet& write_set) {
    seen = write_set;
    return absl::ResourceExhaustedError("no room");
  };
  CommitOptions options;
  options.before_mark.emplace(refuse);
  EXPECT_TRUE(absl::IsResourceExhausted(transaction->Commit(options)));
  EXPECT_THAT(seen, ElementsAre(Intent{id, 0, 5, IntentKind::kWrite},
                                Intent{id, 0, 48, IntentKind::kFree}));
  EXPECT_EQ(under_.Text(id, 5), "first");
}

TEST_P(KaminoStoreTest, WrongRangesAndSizesAreErrors) {
  const ObjectId id = under_.Make("first");
  auto transaction = under_.Begin();
  EXPECT_TRUE(absl::IsOutOfRange(transaction->Write(id, 40, 9).status()));
  EXPECT_TRUE(
      absl::IsOutOfRange(transaction->Write(id, 0xffffffff, 2).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(transaction->Alloc(0).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      transaction->Alloc(kMaxObjectBytes + 1).status()));
  EXPECT_TRUE(absl::IsNotFound(transaction->Write(64, 0, 1).status()));
}

// Ranges of any alignment that touch and overlap, by pointer and by bytes, read
// in between: heap and undo copy end up like a plain buffer.
TEST_P(KaminoStoreTest, RangesOfOneTransactionMatchTheModel) {
  constexpr size_t kBytes = 112;  // a block's whole payload
  std::mt19937 random(1);
  std::string model(kBytes, 'o');
  ObjectId id = under_.Make(model);
  for (int round = 0; round < 300; ++round) {
    const std::string before = model;
    auto transaction = under_.Begin();
    if (round % 5 == 0) {
      // A new object takes the first one's place.
      ASSERT_TRUE(transaction->Free(id).ok());
      id = *transaction->Alloc(kBytes);
      model.assign(kBytes, '\0');
    }
    for (int i = 0; i < 6; ++i) {
      const uint32_t offset = random() % kBytes;
      const uint32_t length =
          random() % std::min<size_t>(kBytes - offset + 1, 20);
      const std::string text(length, 'a' + random() % 26);
      model.replace(offset, length, text);
      if (random() % 2 == 0) {
        const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
        ASSERT_TRUE(transaction->Overwrite(id, offset, {bytes, length}).ok());
      } else {
        auto bytes = transaction->Write(id, offset, length);
        ASSERT_TRUE(bytes.ok());
        std::memcpy(*bytes, text.data(), length);
      }
      if (random() % 3 != 0) continue;
      auto seen = transaction->Read(id);
      ASSERT_TRUE(seen.ok());
      ASSERT_EQ(std::memcmp(seen->data(), model.data(), kBytes), 0) << round;
    }
    if (round % 5 != 0 && random() % 3 == 0) {
      ASSERT_TRUE(transaction->Abort().ok());
      model = before;
    } else {
      ASSERT_TRUE(transaction->Commit().ok());
    }
    under_.Propagate();
    ASSERT_EQ(under_.Text(id, kBytes), model) << round;
    // An abort shows the content of the undo copy.
    auto all = under_.Begin();
    Overwrite(*all, id, std::string(kBytes, '#'));
    ASSERT_TRUE(all->Abort().ok());
    ASSERT_EQ(under_.Text(id, kBytes), model) << round;
  }
}

TEST_P(KaminoStoreTest, EveryLimitHasItsOwnError) {
  const ObjectId id = under_.Make("first");
  auto large = under_.Begin();
  absl::Status status;
  int intents = 0;
  while (status.ok()) {
    status = large->Write(id, 0, 1).status();
    ASSERT_LT(++intents, 100000);
  }
  EXPECT_EQ(ResourceOf(status), Resource::kTransaction);
  ASSERT_TRUE(large->Abort().ok());

  auto full = under_.Begin();
  status = absl::OkStatus();
  while (status.ok()) status = full->Alloc(kMaxObjectBytes).status();
  EXPECT_EQ(ResourceOf(status), Resource::kHeap);
  ASSERT_TRUE(full->Abort().ok());

  // More locked objects than intents can stay.
  std::vector<ObjectId> ids(10000);
  for (size_t i = 0; i < ids.size(); i += 1000) {
    auto maker = under_.Begin();
    for (size_t k = i; k < i + 1000; ++k) ids[k] = *maker->Alloc(10);
    ASSERT_TRUE(maker->Commit().ok());
    under_.Propagate();
  }
  std::vector<std::unique_ptr<Transaction>> together;
  status = absl::OkStatus();
  for (size_t i = 0; status.ok() && i < ids.size(); ++i) {
    if (i % 2000 == 0) together.push_back(under_.Begin());
    status = together.back()->Write(ids[i], 0, 1).status();
  }
  EXPECT_EQ(ResourceOf(status), Resource::kLog) << status;
  for (const auto& one : together) ASSERT_TRUE(one->Abort().ok());
  auto after = under_.Begin();
  EXPECT_TRUE(after->Write(ids[0], 0, 1).ok());
}

TEST_P(KaminoStoreTest, HoldLocksLocksAReplicasWriteSet) {
  const ObjectId id = under_.Make("first");
  const ObjectId freed = under_.Make("freed");
  under_.heap().states().MarkFree(freed);
  under_.heap().Release(freed);
  under_.store().HoldLocks(
      7, {{id, 0, 5, IntentKind::kWrite}, {freed, 0, 48, IntentKind::kFree}});
  under_.store().HoldLocks(8, {{id, 0, 5, IntentKind::kWrite}});
  auto transaction = under_.Begin();
  EXPECT_TRUE(absl::IsAborted(transaction->Read(id).status()));
  EXPECT_NE(*transaction->Alloc(40), freed);
  unlocked_.clear();
  under_.store().ReleaseHold(7);
  EXPECT_THAT(unlocked_, ElementsAre(freed));  // 8 holds the other
  under_.store().ReleaseHold(8);
  EXPECT_THAT(unlocked_, Contains(id));
  under_.store().ReleaseHold(9);  // of no object
}

INSTANTIATE_TEST_SUITE_P(Schemes, KaminoStoreTest,
                         ::testing::ValuesIn(kAllSchemes), SchemeName);

// 0.3 of the heap is too small for all objects: cold ones lose their copies.
TEST(DynamicUndoCopyTest, EvictsOnlyUnlockedObjects) {
  StoreUnderTest under(Scheme::kDynamic);
  std::vector<ObjectId> ids;
  for (int i = 0; i < 8; ++i) {
    ids.push_back(under.Make(std::string(700 << 10, 'a' + i)));
  }
  for (size_t round = 0; round < 3; ++round) {
    for (size_t i = 0; i < ids.size(); ++i) {
      auto transaction = under.Begin();
      auto bytes = transaction->Write(ids[i], 0, 5);
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      std::memcpy(*bytes, "dirty", 5);
      ASSERT_TRUE(transaction->Abort().ok());
      ASSERT_EQ(under.Text(ids[i], 5), std::string(5, 'a' + i));
    }
  }
  EXPECT_GT(under.store().stats().undo_copy.evictions, 0u);

  auto greedy = under.Begin();
  absl::Status status;
  size_t written = 0;
  while (status.ok() && written < ids.size()) {
    status = greedy->Write(ids[written++], 0, 1).status();
  }
  EXPECT_EQ(ResourceOf(status), Resource::kTransaction) << status;
  EXPECT_THAT(
      std::string(status.message()),
      ::testing::HasSubstr(absl::StrCat(
          "has room for ", under.store().stats().undo_copy.bytes_total)));
  ASSERT_TRUE(greedy->Abort().ok());
  EXPECT_TRUE(under.Begin()->Write(ids.back(), 0, 1).ok());
}

// Copies for expected writes that do not come are not pinned for good.
TEST(DynamicUndoCopyTest, UnusedExpectedWritesLeaveNoPin) {
  StoreUnderTest under(Scheme::kDynamic);
  std::vector<ObjectId> ids;
  for (int i = 0; i < 8; ++i) {
    ids.push_back(under.Make(std::string(700 << 10, 'a' + i)));
  }
  for (ObjectId id : ids) {
    auto transaction = under.Begin();
    const absl::Status expected = transaction->ExpectWrites({id});
    ASSERT_TRUE(expected.ok()) << expected;
    ASSERT_TRUE(transaction->Commit().ok());
  }
}

// Copies that fit together, but not in their present places: earlier copies are
// in the way. Once those are given up, the new ones are made side by side.
TEST(DynamicUndoCopyTest, CopiesThatFitTogetherFitOnRetry) {
  StoreUnderTest under(Scheme::kDynamic);
  const uint64_t room = under.store().stats().undo_copy.bytes_total;
  const ObjectId in_the_way = under.Make(std::string(room / 10, 'w'));
  std::vector<ObjectId> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(under.Make(std::string(room * 31 / 100, 'a' + i)));
  }
  // Only that one has a copy, which lies at the beginning.
  auto first = under.Begin();
  ASSERT_TRUE(first->Write(in_the_way, 0, 1).ok());
  ASSERT_TRUE(first->Abort().ok());
  const auto write_all = [&](Transaction& transaction) {
    for (ObjectId id : ids) {
      absl::Status status = transaction.Write(id, 0, 1).status();
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  };
  auto second = under.Begin();
  EXPECT_EQ(ResourceOf(write_all(*second)), Resource::kUndoCopy);
  ASSERT_TRUE(second->Abort().ok());
  auto third = under.Begin();
  EXPECT_EQ(write_all(*third), absl::OkStatus());
  EXPECT_TRUE(third->Commit().ok());
}

// An object whose copy was made, but whose intent found no room, gets its
// intent with the write.
TEST(UndoCopyTest, AWriteAfterAFailedExpectWritesNeedsAnIntent) {
  for (const Scheme scheme : {Scheme::kSimple, Scheme::kDynamic}) {
    StoreUnderTest under(scheme);
    auto transaction = under.Begin();
    ObjectId id = kNullObject;
    absl::Status expected;
    do {
      id = under.Make(std::string(8, 'a'));
      expected = transaction->ExpectWrites({id});
    } while (expected.ok());
    const absl::Status written = transaction->Write(id, 0, 1).status();
    for (const absl::Status& status : {expected, written}) {
      EXPECT_THAT(std::string(status.message()),
                  ::testing::HasSubstr("room for intents"));
    }
  }
}

TEST(StoreStatsTest, CountsTransactionsThatChangeNothing) {
  StoreUnderTest under(Scheme::kSimple);
  const ObjectId id = under.Make("first");
  const uint64_t committed = under.store().stats().committed;
  const uint64_t aborted = under.store().stats().aborted;
  for (int i = 0; i < 3; ++i) {
    auto transaction = under.Begin();
    EXPECT_TRUE(transaction->Read(id).ok());
    EXPECT_TRUE(transaction->Commit().ok());
  }
  EXPECT_EQ(under.store().stats().committed, committed + 3);
  EXPECT_EQ(under.store().stats().aborted, aborted);
}

// The thread's memory for transactions is destroyed first, as it is for objects
// with static lifetime.
TEST(ThreadEndTest, ATransactionMayEndAfterItsThreadsMemory) {
  StoreUnderTest under(Scheme::kSimple);
  const ObjectId id = under.Make("first");
  struct Late {
    ~Late() {
      EXPECT_TRUE(transaction->Commit().ok());
      transaction.reset();
      transaction = under->Begin();
      EXPECT_TRUE(transaction->Read(id).ok());
      EXPECT_TRUE(transaction->Commit().ok());
    }
    StoreUnderTest* under;
    ObjectId id;
    std::unique_ptr<Transaction> transaction;
  };
  std::thread([&under, id] {
    thread_local Late late{&under, id, nullptr};
    // Makes all memory that the thread keeps: it is destroyed before `late`.
    EXPECT_TRUE(under.Begin()->Commit().ok());
    late.transaction = under.Begin();
    Overwrite(*late.transaction, id, "other");
  }).join();
  EXPECT_EQ(under.Text(id, 5), "other");
}

// Evicted copies come back at each eviction, as they do when other threads
// write, and no two adjacent places become free.
TEST(DynamicUndoCopyTest, AWriteGivesUpWhileEvictedCopiesComeBack) {
  constexpr size_t kHeapBytes = 192u << 10;
  constexpr uint64_t kBlock = 1024;  // of a copy of 1,000 bytes
  SimRegion heap_region(kHeapBytes);
  SimRegion region(DynamicUndoCopyBytes(kHeapBytes, 0.2));
  const std::unique_ptr<Heap> heap =
      *Heap::CreateWithLog(&heap_region, "test", heap_format::kMinLogBytes);
  const std::unique_ptr<UndoCopy> undo_copy =
      *CreateDynamicUndoCopy(heap.get(), &region);
  const uint64_t room = undo_copy->stats().bytes_total;
  std::vector<ObjectId> ids;
  for (uint64_t used = 0; used + kBlock <= room; used += kBlock) {
    ids.push_back(*heap->Reserve(1000));
    ASSERT_TRUE(undo_copy->EnsureCopy(ids.back()).ok());
  }
  for (size_t i = 0; i < ids.size(); i += 2) undo_copy->Unpin(ids[i]);
  const ObjectId large = *heap->Reserve(2000);

  std::vector<ObjectId> gone;
  uint64_t evicted = 0;
  undo_copy->SetEvictionListener([&](absl::Span<const ObjectId> victims) {
    evicted += victims.size();
    if (evicted > 1000) return;  // so that the test ends without a bound, too
    for (ObjectId id : gone) {
      EXPECT_TRUE(undo_copy->EnsureCopy(id).ok());
      undo_copy->Unpin(id);
    }
    gone.assign(victims.begin(), victims.end());
  });
  EXPECT_EQ(ResourceOf(undo_copy->EnsureCopy(large).status()),
            Resource::kUndoCopy);
  EXPECT_GT(evicted, 0u);
  EXPECT_LE(evicted * kBlock, 3 * room);

  // Where nothing comes back it evicts until the copy fits.
  undo_copy->SetEvictionListener(nullptr);
  for (size_t i = 1; i < ids.size(); i += 2) undo_copy->Unpin(ids[i]);
  const absl::Status fits = undo_copy->EnsureCopy(large).status();
  EXPECT_TRUE(fits.ok()) << fits;
}

// A copy that is there after a crash is one that recovery may restore.
class CrashedUndoCopyTest
    : public ::testing::TestWithParam<std::tuple<Scheme, bool>> {
 protected:
  static constexpr size_t kHeapBytes = 192u << 10;

  static bool simple() { return IsSimple(std::get<0>(GetParam())); }

  CrashedUndoCopyTest()
      : region_(simple() ? SimpleUndoCopyBytes(kHeapBytes)
                         : DynamicUndoCopyBytes(kHeapBytes, 0.3)),
        heap_(*Heap::CreateWithLog(&heap_region_, "test",
                                   heap_format::kMinLogBytes)) {
    for (int i = 0; i < 3; ++i) {
      ids_.push_back(*heap_->Reserve(500));
      const auto payload = heap_->BlockPayload(ids_.back());
      std::memset(payload.data(), 'a' + i, payload.size());
    }
  }

  // Returns the number of copies.
  int CheckCrashes() {
    int found = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      SimRegion after(region_.CrashImage(seed));
      const auto opened = simple() ? OpenSimpleUndoCopy(heap_.get(), &after)
                                   : OpenDynamicUndoCopy(heap_.get(), &after);
      if (!opened.ok()) {
        ADD_FAILURE() << opened.status();
        continue;
      }
      for (ObjectId id : ids_) {
        const auto copy = (*opened)->Copy(id);
        if (!copy.ok()) continue;
        ++found;
        const auto payload = heap_->BlockPayload(id);
        EXPECT_EQ(std::memcmp(copy->data(), payload.data(), payload.size()), 0)
            << id << ", seed " << seed;
      }
    }
    return found;
  }

  SimRegion heap_region_{kHeapBytes};
  SimRegion region_;
  const std::unique_ptr<Heap> heap_;
  std::vector<ObjectId> ids_;
};

TEST_P(CrashedUndoCopyTest, IsWhole) {
  const std::unique_ptr<UndoCopy> undo_copy =
      *(simple() ? CreateSimpleUndoCopy(heap_.get(), &region_)
                 : CreateDynamicUndoCopy(heap_.get(), &region_));
  int found = 0;
  region_.SetDrainHook([&] { found += CheckCrashes(); });
  if (std::get<1>(GetParam())) {
    for (const std::byte* copy : undo_copy->EnsureCopies(ids_)) {
      EXPECT_NE(copy, nullptr);
    }
  } else {
    for (ObjectId id : ids_) EXPECT_TRUE(undo_copy->EnsureCopy(id).ok());
  }
  region_.SetDrainHook(nullptr);
  EXPECT_GT(found, 0);
}

INSTANTIATE_TEST_SUITE_P(OneByOneAndTogether, CrashedUndoCopyTest,
                         ::testing::Combine(::testing::Values(Scheme::kSimple,
                                                              Scheme::kDynamic),
                                            ::testing::Bool()));

TEST(UndoCopyTest, RefusesAnotherHeapsUndoCopy) {
  StoreUnderTest one(Scheme::kSimple);
  StoreUnderTest two(Scheme::kSimple);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      OpenSimpleUndoCopy(&one.heap(), &two.undo_copy_region()).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      OpenDynamicUndoCopy(&one.heap(), &one.undo_copy_region()).status()));
  one.undo_copy_region().base()[20] ^= std::byte{1};
  EXPECT_TRUE(absl::IsDataLoss(
      OpenSimpleUndoCopy(&one.heap(), &one.undo_copy_region()).status()));
}

}  // namespace
}  // namespace kamino::engine
