// WrAP's cost and bounds; the crash campaigns check that it is crash-safe
// (tests/engine/crash).
#include "lab/wrap/wrap_store.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/heap/heap.h"
#include "engine/pmem/counting_region.h"
#include "engine/pmem/sim_region.h"
#include "engine/resource_error.h"
#include "gtest/gtest.h"
#include "tests/engine/baselines/one_store.h"
#include "tests/faults/planted.h"

namespace kamino::engine {
namespace {

class WrapStoreTest : public OneStoreTest<WrapStore> {
 protected:
  WrapStoreTest() { MakeStore(WrapOptions()); }

  void MakeStore(WrapOptions options) {
    store_.reset();
    options.log_wait = absl::ZeroDuration();
    store_ = *WrapStore::Create(&region_, options);
  }

  // Loses everything that was not drained.
  void CrashAndOpen() {
    after_ = std::make_unique<SimRegion>(DurableOf(region_));
    // Kept until the end: its destructor must not run now.
    left_ = std::move(store_);
    auto opened = WrapStore::Open(after_.get());
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }

  std::unique_ptr<WrapStore> left_;
};

TEST_F(WrapStoreTest, CommittedTransactionsSurviveAndAreReported) {
  const ObjectId one = Make(100);
  const ObjectId two = Make(100);
  store_->Quiesce();
  auto committed = Begin();
  ASSERT_TRUE(committed->Overwrite(one, 0, BytesOf("committed")).ok());
  CommitOptions options;
  options.sequence = 77;
  ASSERT_TRUE(committed->Commit(options).ok());
  auto live = Begin();
  std::memcpy(*live->Write(two, 0, 10), "unfinished", 10);
  ASSERT_TRUE(live->Overwrite(two, 20, BytesOf("unfinished, too")).ok());
  CrashAndOpen();
  RecoveryReport report = store_->recovery_report();
  EXPECT_EQ(report.last_sequence, 77u);
  EXPECT_EQ(report.replayed, 1u);
  EXPECT_TRUE(report.lost_objects.empty());
  EXPECT_EQ(Text(one, 9), "committed");
  EXPECT_EQ(Text(two, 30), std::string(30, '\0'));
  ASSERT_TRUE(live->Abort().ok());
  store_.reset();
  store_ = *WrapStore::Open(after_.get());
  report = store_->recovery_report();
  EXPECT_EQ(report.replayed, 0u);
  EXPECT_EQ(report.last_sequence, 77u);
}

TEST_F(WrapStoreTest, ASequenceOverTheLimitIsRefused) {
  const ObjectId id = Make(100);
  CommitOptions options;
  options.sequence = wrap_format::kSequenceMask + 1;
  auto refused = Begin();
  ASSERT_TRUE(refused->Overwrite(id, 0, BytesOf("refused")).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(refused->Commit(options)));
  --options.sequence;
  auto last = Begin();
  ASSERT_TRUE(last->Overwrite(id, 0, BytesOf("last")).ok());
  EXPECT_TRUE(last->Commit(options).ok());
  // There is none after it.
  auto more = Begin();
  ASSERT_TRUE(more->Overwrite(id, 0, BytesOf("more")).ok());
  EXPECT_TRUE(more->Commit().ok());
  CrashAndOpen();
  EXPECT_EQ(store_->recovery_report().last_sequence, options.sequence);
  EXPECT_EQ(Text(id, 4), "more");
}

// None of its stores is home before its wrap has closed.
TEST_F(WrapStoreTest, StoresStayInTheViewUntilRetirement) {
  const ObjectId id = Make(1000);
  store_->Quiesce();
  auto transaction = Begin();
  ASSERT_TRUE(
      transaction->Overwrite(id, 0, BytesOf(std::string(1000, 'x'))).ok());
  EXPECT_EQ(region_.base()[id], std::byte{0});
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(region_.base()[id], std::byte{0});
  EXPECT_EQ(Text(id, 1), "x");
  EXPECT_EQ(store_->Retire(SIZE_MAX), 1u);
  EXPECT_EQ(region_.base()[id], std::byte{'x'});
}

// Later bytes win, whether passed to a call or stored through a pointer.
TEST_F(WrapStoreTest, OverwritesAndPointersKeepTheirOrder) {
  const ObjectId id = Make(100);
  auto transaction = Begin();
  ASSERT_TRUE(transaction->Overwrite(id, 0, BytesOf("aaaaaaaaaa")).ok());
  std::byte* const bytes = *transaction->Write(id, 2, 4);
  EXPECT_EQ(bytes[0], std::byte{'a'});
  ASSERT_TRUE(transaction->Overwrite(id, 4, BytesOf("bbbb")).ok());
  std::memcpy(bytes, "cccc", 4);
  ASSERT_TRUE(transaction->Overwrite(id, 8, BytesOf("dddd")).ok());
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(Text(id, 12), "aaccccbbdddd");
  CrashAndOpen();
  EXPECT_EQ(Text(id, 12), "aaccccbbdddd");
}

// However many have not retired: retired ones are not replayed.
TEST_F(WrapStoreTest, RecoveryReplaysOnlyUnretiredWraps) {
  constexpr int kWraps = 9;
  for (int retired = 0; retired <= kWraps; ++retired) {
    MakeStore(WrapOptions());
    const ObjectId id = Make(100);
    store_->Quiesce();
    for (int i = 1; i <= kWraps; ++i) {
      Put(id, std::string(static_cast<size_t>(i), static_cast<char>('0' + i)));
    }
    EXPECT_EQ(store_->Retire(static_cast<size_t>(retired)),
              static_cast<size_t>(retired));
    CrashAndOpen();
    EXPECT_EQ(store_->recovery_report().replayed,
              static_cast<uint64_t>(kWraps - retired));
    EXPECT_EQ(Text(id, kWraps), "999999999");
    left_.reset();
  }
}

// The paper's figure 6: 100 wraps of 20 stores to lines of their own.
TEST_F(WrapStoreTest, AWrapTakesOneDrain) {
  CountingRegion counting(&region_);
  store_.reset();
  store_ = *WrapStore::Create(&counting);
  const ObjectId id = Make(20 * 64);
  store_->Quiesce();
  const PmemCounts before = counting.counts();
  for (int i = 0; i < 100; ++i) {
    auto transaction = Begin();
    for (uint32_t k = 0; k < 20; ++k) {
      ASSERT_TRUE(transaction->Overwrite(id, 64 * k, BytesOf("01234567")).ok());
    }
    ASSERT_TRUE(transaction->Commit().ok());
  }
  const PmemCounts foreground = counting.counts() - before;
  EXPECT_EQ(foreground.drains, 100u);
  EXPECT_EQ(foreground.lines, 600u);
  store_->Quiesce();
  const PmemCounts retirement = counting.counts() - before - foreground;
  EXPECT_EQ(retirement.lines, 2000u + 2u);  // last_sequence, retired
  EXPECT_EQ(retirement.drains, 2u);
  store_.reset();
}

TEST_F(WrapStoreTest, AllocAndFreeAddNoDrain) {
  const ObjectId freed = Make(100);
  store_->Quiesce();
  const uint64_t before = region_.drains();
  auto transaction = Begin();
  ASSERT_TRUE(transaction->Alloc(100).ok());  // of a slab that is there
  ASSERT_TRUE(transaction->Free(freed).ok());
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(region_.drains() - before, 1u);
}

TEST_F(WrapStoreTest, FreedSpaceWaitsForRetirement) {
  const ObjectId id = Make(5000);
  store_->Quiesce();
  const uint64_t used = store_->bytes_used();
  auto transaction = Begin();
  ASSERT_TRUE(transaction->Free(id).ok());
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(store_->bytes_used(), used);
  store_->Quiesce();
  EXPECT_LT(store_->bytes_used(), used);
}

TEST_F(WrapStoreTest, AFullLogIsAnErrorAndNothingIsLost) {
  std::vector<ObjectId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(Make(1 << 20));
  for (ObjectId id : ids) Put(id, "text");
  // There is no room for the new bytes of all in addition.
  auto large = Begin();
  absl::Status status;
  const std::string bytes(1 << 20, 'x');
  for (size_t i = 0; status.ok() && i < ids.size(); ++i) {
    status = large->Overwrite(ids[i], 0, BytesOf(bytes));
  }
  EXPECT_EQ(ResourceOf(status), Resource::kTransaction) << status;
  ASSERT_TRUE(large->Abort().ok());
  // The same when the commit notices.
  large = Begin();
  for (ObjectId id : ids) {
    const auto place = large->Write(id, 0, 1 << 20);
    ASSERT_TRUE(place.ok()) << place.status();
    std::memset(*place, 'x', 1 << 20);
  }
  EXPECT_EQ(ResourceOf(large->Commit()), Resource::kTransaction);
  for (ObjectId id : ids) EXPECT_EQ(Text(id, 4), "text");
  Put(ids[0], "other");
  EXPECT_EQ(Text(ids[0], 5), "other");
}

// Wraps that lie in buckets and in blocks of the heap.
TEST_F(WrapStoreTest, LargeWrapsSurvive) {
  std::vector<ObjectId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(Make(900000));
  auto transaction = Begin();
  for (ObjectId id : ids) {
    ASSERT_TRUE(
        transaction->Overwrite(id, 5, BytesOf(std::string(800000, 'x'))).ok());
  }
  ASSERT_TRUE(transaction->Commit().ok());
  CrashAndOpen();
  EXPECT_EQ(store_->recovery_report().replayed, 1u);
  for (ObjectId id : ids) {
    const std::string text = Text(id, 800006);
    EXPECT_EQ(text.find_first_not_of('\0'), 5u);
    EXPECT_EQ(text.find_first_not_of('x', 5), 800005u);
    EXPECT_EQ(text.back(), '\0');
  }
  EXPECT_EQ(store_->heap()->stats().objects, 1u + ids.size());
}

// As many live transactions as there are buckets, but for one.
TEST_F(WrapStoreTest, BucketsLimitLiveTransactions) {
  WrapOptions options;
  options.log_bytes = 4096;
  options.bucket_bytes = 512;
  MakeStore(options);
  std::vector<ObjectId> ids;
  for (int i = 0; i < 7; ++i) ids.push_back(Make(10));
  store_->Quiesce();
  std::vector<std::unique_ptr<Transaction>> live;
  for (int i = 0; i < 6; ++i) {
    live.push_back(Begin());
    ASSERT_TRUE(live.back()->Overwrite(ids[i], 0, BytesOf("text")).ok()) << i;
  }
  auto refused = Begin();
  EXPECT_EQ(ResourceOf(refused->Overwrite(ids[6], 0, BytesOf("text"))),
            Resource::kLog);
  ASSERT_TRUE(refused->Abort().ok());
  EXPECT_EQ(Text(ids[6], 4), std::string(4, '\0'));
  ASSERT_TRUE(live[0]->Commit().ok());
  Put(ids[6], "text");
  for (size_t i = 1; i < live.size(); ++i) {
    ASSERT_TRUE(live[i]->Commit().ok());
  }
  CrashAndOpen();
  for (ObjectId id : ids) EXPECT_EQ(Text(id, 4), "text");
}

// A worker runs while one wrap has closed and is not durable yet.
class IdleWorkerTest : public WrapStoreTest {
 protected:
  // Whether the worker has more to do at once.
  bool GoesOn() {
    WrapOptions options;
    options.log_bytes = 4096;
    options.bucket_bytes = 512;
    MakeStore(options);
    const ObjectId id = Make(10);
    store_->Quiesce();
    int calls = 0;
    bool goes_on = false;
    region_.SetDrainHook([&] {
      if (++calls > 1) return;
      EXPECT_TRUE(store_->WantsRetire());
      goes_on = store_->WorkBeside();
    });
    Put(id, "text");
    region_.SetDrainHook(nullptr);
    EXPECT_EQ(calls, 1);
    return goes_on;
  }
};

TEST_F(IdleWorkerTest, WaitsForADurableWrap) { EXPECT_FALSE(GoesOn()); }

TEST_F(IdleWorkerTest, PlantedFaultMakesTheWorkerSpin) {
  faults::Planted planted("wrap-retirer-spins");
  EXPECT_TRUE(GoesOn());
}

// After an error only Abort is possible, and Commit does the same: otherwise
// the log would keep its bucket.
TEST_F(WrapStoreTest, ACommitAfterAFullLogFailsAndFreesItsBuckets) {
  WrapOptions options;
  options.log_bytes = 4096;
  options.bucket_bytes = 512;
  MakeStore(options);
  const ObjectId id = Make(10000);
  store_->Quiesce();
  for (uint32_t size = kMaxObjectBytes; size > 0; size /= 2) {
    while (store_->heap()->Reserve(size).ok()) {
    }
  }
  // Often enough for a log that lost a bucket each time.
  for (int i = 0; i < 20; ++i) {
    auto transaction = Begin();
    ASSERT_TRUE(transaction->Overwrite(id, 0, BytesOf("begun")).ok());
    ASSERT_EQ(ResourceOf(transaction->Overwrite(
                  id, 0, BytesOf(std::string(10000, 'x')))),
              Resource::kTransaction);
    ASSERT_EQ(ResourceOf(transaction->Commit()), Resource::kTransaction);
  }
  EXPECT_EQ(Text(id, 5), std::string(5, '\0'));
  Put(id, "text");
  EXPECT_EQ(Text(id, 4), "text");
}

// However long it runs: buckets and freed space are reused.
TEST_F(WrapStoreTest, ManyTransactionsReuseLittleSpace) {
  const uint64_t used = store_->bytes_used();
  ObjectId id = Make(50000);
  for (int i = 0; i < 400; ++i) {
    auto transaction = Begin();
    ASSERT_TRUE(transaction->Free(id).ok());
    const auto made = transaction->Alloc(50000);
    ASSERT_TRUE(made.ok()) << made.status() << " after " << i;
    ASSERT_TRUE(transaction->Overwrite(*made, 0, BytesOf("new")).ok());
    const bool commit = i % 3 > 0;
    const absl::Status ended =
        commit ? transaction->Commit() : transaction->Abort();
    ASSERT_TRUE(ended.ok()) << ended << " after " << i;
    if (commit) id = *made;
  }
  store_->Quiesce();
  EXPECT_LT(store_->bytes_used(), used + 2 * 50000);
  for (int i = 0; i < 3000; ++i) Put(id, "some text that is put again");
  EXPECT_EQ(Text(id, 9), "some text");
}

TEST_F(WrapStoreTest, BadOptionsAndOtherHeapsAreRefused) {
  WrapOptions options;
  options.bucket_bytes = 500;
  SimRegion other(Heap::kMinBytes);
  EXPECT_TRUE(
      absl::IsInvalidArgument(WrapStore::Create(&other, options).status()));
  // A heap that was made without a log.
  EXPECT_TRUE(absl::IsDataLoss(WrapStore::Open(&other).status()));
  auto heap = *Heap::Create(&other, "cow");
  EXPECT_TRUE(absl::IsFailedPrecondition(WrapStore::Open(&other).status()));
  SimRegion small(1 << 20);
  EXPECT_TRUE(absl::IsInvalidArgument(WrapStore::Create(&small).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(WrapStore::Open(&small).status()));
}

// The existing log stays in use, whatever the options are.
TEST_F(WrapStoreTest, ReopeningKeepsTheLogLayout) {
  WrapOptions options;
  options.bucket_bytes = 1024;
  MakeStore(options);
  const ObjectId id = Make(100);
  Put(id, "text");
  CrashAndOpen();
  EXPECT_EQ(Text(id, 4), "text");
  Put(id, std::string(90, 'x'));
  store_.reset();
  store_ = *WrapStore::Open(after_.get());
  EXPECT_EQ(Text(id, 90), std::string(90, 'x'));
}

}  // namespace
}  // namespace kamino::engine
