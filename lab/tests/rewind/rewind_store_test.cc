// REWIND's cost and bounds, in each configuration; the crash campaigns check
// that it is crash-safe (tests/engine/crash).
#include "lab/rewind/rewind_store.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "engine/resource_error.h"
#include "gtest/gtest.h"
#include "tests/engine/baselines/one_store.h"

namespace kamino::engine {
namespace {

using rewind_format::LogHeader;

class RewindStoreTest
    : public OneStoreTest<RewindStore,
                          ::testing::TestWithParam<RewindOptions>> {
 protected:
  void SetUp() override { Open(GetParam()); }

  void Open(const RewindOptions& options) {
    store_.reset();
    heap_ = *Heap::Create(&region_, options.Name());
    store_ = *RewindStore::Open(options, heap_.get());
  }

  // Opens the image that a crash now would leave.
  void CrashAndOpen(uint64_t seed) {
    const SimRegion::Image image = region_.CrashImage(seed);
    // Kept until the end: its destructor must not run now.
    left_ = std::move(store_);
    left_heap_ = std::move(heap_);
    after_ = std::make_unique<SimRegion>(image);
    heap_ = *Heap::Open(after_.get());
    auto opened = RewindStore::Open(GetParam(), heap_.get());
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }

  std::unique_ptr<Heap> left_heap_;
  std::unique_ptr<RewindStore> left_;
};

INSTANTIATE_TEST_SUITE_P(
    Twelve, RewindStoreTest, ::testing::ValuesIn(AllRewinds()),
    [](const ::testing::TestParamInfo<RewindOptions>& info) {
      std::string name = info.param.Name();
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST_P(RewindStoreTest, HasTheNameOfItsOptions) {
  EXPECT_EQ(store_->scheme(), GetParam().Name());
  const auto named = RewindNamed(GetParam().Name());
  ASSERT_TRUE(named.has_value());
  EXPECT_EQ(named->Name(), GetParam().Name());
  EXPECT_FALSE(RewindNamed("rewind-3-force-batch").has_value());
  EXPECT_EQ(RewindNamed("rewind")->Name(), "rewind-1-noforce-batch");
}

TEST_P(RewindStoreTest, CommittedTransactionsSurviveAndAreReported) {
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
  // Only durable bytes survive.
  after_ = std::make_unique<SimRegion>(DurableOf(region_));
  auto heap = *Heap::Open(after_.get());
  auto opened = *RewindStore::Open(GetParam(), heap.get());
  const RecoveryReport report = opened->recovery_report();
  EXPECT_EQ(report.last_sequence, 77u);
  EXPECT_EQ(report.replayed, GetParam().force ? 0u : 1u);
  EXPECT_EQ(report.rolled_back, 1u);
  EXPECT_TRUE(report.lost_objects.empty());
  auto reader = opened->Begin(absl::ZeroDuration());
  EXPECT_EQ(std::memcmp(reader->Read(one)->data(), "committed", 9), 0);
  EXPECT_EQ(reader->Read(two)->data()[0], std::byte{0});
  reader.reset();
  // There is nothing to recover any more, but the sequence is still known.
  opened.reset();
  opened = *RewindStore::Open(GetParam(), heap.get());
  EXPECT_EQ(opened->recovery_report().rolled_back, 0u);
  EXPECT_EQ(opened->recovery_report().replayed, 0u);
  EXPECT_EQ(opened->recovery_report().last_sequence, 77u);
}

// Later bytes win, whether passed to a call or stored through a pointer.
TEST_P(RewindStoreTest, OverwritesAndPointersKeepTheirOrder) {
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
  CrashAndOpen(1);
  EXPECT_EQ(Text(id, 12), "aaccccbbdddd");
}

// Closing the group for it makes the ranges move.
TEST_P(RewindStoreTest, TheLastOfTwoOverwritesSurvives) {
  const ObjectId id = Make(1000);
  auto transaction = Begin();
  for (uint32_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(transaction->Overwrite(id, 16 * i, BytesOf("first")).ok());
  }
  ASSERT_TRUE(transaction->Overwrite(id, 200, BytesOf("other")).ok());
  for (uint32_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(transaction->Overwrite(id, 16 * i, BytesOf("again")).ok());
  }
  ASSERT_TRUE(transaction->Commit().ok());
  CrashAndOpen(1);
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(Text(id, 16 * i + 5).substr(16 * i), "again") << i;
  }
}

TEST_P(RewindStoreTest, AFullLogIsAnErrorAndNothingIsLost) {
  std::vector<ObjectId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(Make(1 << 20));
  for (ObjectId id : ids) Put(id, "text");
  // There is no room for the old bytes of all in addition.
  auto large = Begin();
  absl::Status status;
  for (size_t i = 0; status.ok() && i < ids.size(); ++i) {
    status = large->Write(ids[i], 0, 1 << 20).status();
    if (status.ok()) std::memset(*large->Write(ids[i], 0, 4), 'x', 4);
  }
  EXPECT_EQ(ResourceOf(status), Resource::kTransaction) << status;
  ASSERT_TRUE(large->Abort().ok());
  store_->Quiesce();
  for (ObjectId id : ids) EXPECT_EQ(Text(id, 4), "text");
  EXPECT_EQ(store_->log_blocks(), 0u);
  Put(ids[0], "other");
  EXPECT_EQ(Text(ids[0], 5), "other");
}

// However long it runs: records are dropped, and freed space is reused.
TEST_P(RewindStoreTest, ManyTransactionsReuseLittleSpace) {
  const uint64_t used = store_->bytes_used();
  ObjectId id = Make(50000);
  for (int i = 0; i < 400; ++i) {
    auto transaction = Begin();
    ASSERT_TRUE(transaction->Free(id).ok());
    const auto made = transaction->Alloc(50000);
    ASSERT_TRUE(made.ok()) << made.status() << " after " << i;
    ASSERT_TRUE(transaction->Overwrite(*made, 0, BytesOf("new")).ok());
    const bool commit = i % 3 > 0;
    ASSERT_TRUE((commit ? transaction->Commit() : transaction->Abort()).ok());
    if (commit) id = *made;
  }
  store_->Quiesce();
  EXPECT_EQ(store_->log_blocks(), 0u);
  EXPECT_LT(store_->bytes_used(), used + 2 * 50000);
  for (int i = 0; i < 3000; ++i) Put(id, "some text that is put again");
  EXPECT_EQ(Text(id, 9), "some text");
}

// It clears the log in several steps. Force has none.
TEST_P(RewindStoreTest, ACrashWithinALargeCheckpointIsRecovered) {
  constexpr int kTransactions = 100;
  const ObjectId id = Make(100);
  store_->Quiesce();
  CommitOptions numbered;
  for (int i = 0; i < kTransactions; ++i) {
    auto transaction = Begin();
    const std::string text = absl::StrCat("number ", 1000 + i);
    ASSERT_TRUE(transaction->Overwrite(id, 0, BytesOf(text)).ok());
    numbered.sequence = 7 + i;
    ASSERT_TRUE(transaction->Commit(numbered).ok());
  }
  int drains = 0;
  int next = 1;
  std::vector<SimRegion::Image> images;
  region_.SetDrainHook([&] {
    if (++drains < next) return;
    next += 1 + drains / 16;
    images.push_back(region_.CrashImage(drains));
  });
  store_->Quiesce();
  region_.SetDrainHook(nullptr);
  EXPECT_EQ(images.empty(), GetParam().force);
  for (size_t i = 0; i < images.size(); ++i) {
    SimRegion after(images[i]);
    auto heap = *Heap::Open(&after);
    const auto store = RewindStore::Open(GetParam(), heap.get());
    ASSERT_TRUE(store.ok()) << store.status() << ", image " << i;
    EXPECT_EQ((*store)->recovery_report().last_sequence, numbered.sequence);
    EXPECT_EQ(std::memcmp(after.base() + id, "number 1099", 11), 0) << i;
  }
}

TEST_P(RewindStoreTest, BadOptionsAndOtherHeapsAreRefused) {
  RewindOptions options = GetParam();
  options.group = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(
      RewindStore::Open(options, heap_.get()).status()));
  options = GetParam();
  options.layers = 3;
  EXPECT_TRUE(absl::IsInvalidArgument(
      RewindStore::Open(options, heap_.get()).status()));
  options = GetParam();
  options.force = !options.force;
  EXPECT_TRUE(absl::IsFailedPrecondition(
      RewindStore::Open(options, heap_.get()).status()));
  if (GetParam().layers == 1) return;
  SimRegion small(Heap::kMinTinyBytes);
  auto tiny = *Heap::CreateWithLog(&small, GetParam().Name(), 4096);
  EXPECT_TRUE(absl::IsInvalidArgument(
      RewindStore::Open(GetParam(), tiny.get()).status()));
}

// The heap is not touched where the log is damaged.
TEST_P(RewindStoreTest, ADamagedLogIsAnError) {
  const ObjectId id = Make(100);
  store_->Quiesce();
  // Recovery has to know all of this: which transactions are committed, up to
  // which number, and which are not.
  CommitOptions numbered;
  numbered.sequence = 77;
  auto committed = Begin();
  ASSERT_TRUE(committed->Overwrite(id, 8, BytesOf("kept")).ok());
  ASSERT_TRUE(committed->Commit(numbered).ok());
  auto live = Begin();
  std::memcpy(*live->Write(id, 0, 4), "text", 4);
  SimRegion::Image image(region_.base(), region_.base() + region_.size());
  // The header, then from the end: before the records is the log of two layers,
  // which is void by now.
  const size_t log = heap_->log_area().data() - region_.base();
  std::vector<size_t> places;
  for (size_t at = log; at < log + sizeof(LogHeader); at += 8) {
    places.push_back(at);
  }
  for (size_t at = log + (128u << 10); at > log; at -= 8) places.push_back(at);
  int refused = 0;
  int tried = 0;
  const auto check = [&](SimRegion* damaged, size_t at) {
    auto heap = *Heap::Open(damaged);
    const auto opened = RewindStore::Open(GetParam(), heap.get());
    if (!opened.ok()) {
      EXPECT_TRUE(absl::IsDataLoss(opened.status())) << opened.status();
      EXPECT_EQ(std::memcmp(damaged->base() + id, &image[id], 100), 0);
      ++refused;
      return;
    }
    EXPECT_EQ((*opened)->recovery_report().last_sequence, 77u) << at;
    EXPECT_EQ(std::memcmp(damaged->base() + id, "\0\0\0\0\0\0\0\0kept", 12), 0)
        << "damage at " << at << " of the log at " << log;
  };
  for (size_t word : places) {
    const bool in_header = word < log + sizeof(LogHeader);
    if (tried == 120) break;
    if (!in_header &&
        std::all_of(&image[word], &image[word + 8],
                    [](std::byte b) { return b == std::byte{}; })) {
      continue;
    }
    ++tried;
    for (size_t at = word; at < word + 8; ++at) {
      SimRegion damaged(image);
      damaged.base()[at] ^= std::byte{1} << at * 5 / 8 % 8;
      check(&damaged, at);
    }
  }
  EXPECT_GT(refused, 100);
  // A line that a medium returns as zeros.
  for (size_t line = log; line < log + heap_->log_area().size(); line += 64) {
    if (std::all_of(&image[line], &image[line + 64],
                    [](std::byte b) { return b == std::byte{}; })) {
      continue;
    }
    SimRegion damaged(image);
    std::memset(damaged.base() + line, 0, 64);
    check(&damaged, line);
  }
}

TEST_P(RewindStoreTest, TheLargestSequenceIsKept) {
  const ObjectId id = Make(100);
  CommitOptions options;
  options.sequence = UINT64_MAX;
  auto last = Begin();
  ASSERT_TRUE(last->Overwrite(id, 0, BytesOf("last")).ok());
  EXPECT_TRUE(last->Commit(options).ok());
  // There is none after it.
  Put(id, "more");
  store_->Quiesce();
  CrashAndOpen(1);
  EXPECT_EQ(store_->recovery_report().last_sequence, options.sequence);
  EXPECT_EQ(Text(id, 4), "more");
}

// Few cells in a bucket: the tree's words take most of the room.
TEST(RewindOptionsTest, TheSmallestBucketsWork) {
  for (const RewindOptions& named : AllRewinds()) {
    RewindOptions options = named;
    options.bucket = 1;
    options.group = 64;
    SimRegion region(Heap::kMinBytes);
    auto heap = *Heap::Create(&region, options.Name());
    auto store = *RewindStore::Open(options, heap.get());
    auto making = store->Begin(absl::ZeroDuration());
    const ObjectId id = *making->Alloc(64 * 64);
    ASSERT_TRUE(making->Commit().ok()) << options.Name();
    std::vector<Intent> intents;
    for (uint32_t i = 0; i < 64; ++i) intents.push_back({id, 64 * i, 8});
    for (int round = 0; round < 20; ++round) {
      auto transaction = store->Begin(absl::ZeroDuration());
      const absl::Status declared = transaction->Declare(intents);
      ASSERT_TRUE(declared.ok()) << options.Name() << ": " << declared;
      ASSERT_TRUE(transaction->Commit().ok()) << options.Name();
    }
  }
}

// A scan of the log finds the remembered records: it asserts that.
TEST(RewindOptionsTest, AnAbortFindsItsRecordsByScanningTheLog) {
  for (const RewindOptions& named : AllRewinds()) {
    // Two layers have a tree for that.
    if (named.layers == 2) continue;
    RewindOptions options = named;
    options.scans = true;
    SimRegion region(Heap::kMinBytes);
    auto heap = *Heap::Create(&region, options.Name());
    auto store = *RewindStore::Open(options, heap.get());
    auto making = store->Begin(absl::ZeroDuration());
    const ObjectId one = *making->Alloc(100);
    const ObjectId two = *making->Alloc(100);
    ASSERT_TRUE(making->Commit().ok());
    auto other = store->Begin(absl::ZeroDuration());
    auto target = store->Begin(absl::ZeroDuration());
    for (uint32_t i = 0; i < 10; ++i) {
      ASSERT_TRUE(other->Write(two, 8 * i, 8).ok());
      ASSERT_TRUE(target->Overwrite(one, 8 * i, BytesOf("01234567")).ok());
    }
    ASSERT_TRUE(target->Abort().ok()) << options.Name();
    ASSERT_TRUE(other->Commit().ok()) << options.Name();
    auto reader = store->Begin(absl::ZeroDuration());
    EXPECT_EQ(reader->Read(one)->data()[0], std::byte{0}) << options.Name();
  }
}

// With force, recovery skips records kept for a checkpoint, and their blocks
// are not reused before.
TEST(RewindOptionsTest, ForceMayKeepFinishedRecords) {
  for (const LogForm form :
       {LogForm::kSimple, LogForm::kOptimized, LogForm::kBatch}) {
    RewindOptions options;
    options.force = true;
    options.form = form;
    options.clears_at_commit = false;
    options.checkpoint_records = 1;
    SimRegion region(Heap::kMinBytes);
    auto heap = *Heap::Create(&region, options.Name());
    auto store = *RewindStore::Open(options, heap.get());
    auto making = store->Begin(absl::ZeroDuration());
    const ObjectId id = *making->Alloc(100);
    const ObjectId gone = *making->Alloc(100);
    ASSERT_TRUE(making->Commit().ok());
    auto changing = store->Begin(absl::ZeroDuration());
    ASSERT_TRUE(changing->Overwrite(id, 0, BytesOf("committed")).ok());
    ASSERT_TRUE(changing->Free(gone).ok());
    ASSERT_TRUE(changing->Commit().ok());
    EXPECT_EQ(store->log_blocks(), 1u);
    auto live = store->Begin(absl::ZeroDuration());
    std::memcpy(*live->Write(id, 0, 9), "unfinishe", 9);
    SimRegion after(
        SimRegion::Image(region.durable(), region.durable() + region.size()));
    auto heap_after = *Heap::Open(&after);
    auto opened = *RewindStore::Open(options, heap_after.get());
    EXPECT_EQ(opened->recovery_report().rolled_back, 1u);
    auto reader = opened->Begin(absl::ZeroDuration());
    EXPECT_EQ(std::memcmp(reader->Read(id)->data(), "committed", 9), 0);
    EXPECT_FALSE(reader->Read(gone).ok());
    ASSERT_TRUE(live->Abort().ok());
    EXPECT_TRUE(store->WantsCheckpoint());
    // The checkpointer's work.
    store->WorkBeside();
    EXPECT_EQ(store->log_blocks(), 0u);
    EXPECT_FALSE(store->WantsCheckpoint());
  }
}

// The figures of the format's page.
TEST(RewindCostTest, ATransactionTakesTheDocumentedDrains) {
  struct Expected {
    const char* name;
    uint64_t one;       // range, given
    uint64_t eight;     // of them
    uint64_t declared;  // eight at once, by pointer
  };
  for (const Expected& expected : {
           Expected{"rewind-1-noforce-simple", 8, 36, 68},
           {"rewind-1-noforce-optimized", 4, 18, 6},
           {"rewind-1-noforce-batch", 2, 4, 6},
           {"rewind-1-force-optimized", 7, 21, 7},
           {"rewind-1-force-batch", 7, 7, 7},
       }) {
    SimRegion region(Heap::kMinBytes);
    auto heap = *Heap::Create(&region, expected.name);
    auto store = *RewindStore::Open(*RewindNamed(expected.name), heap.get());
    const auto begin = [&] { return store->Begin(absl::ZeroDuration()); };
    auto making = begin();
    const ObjectId id = *making->Alloc(1000);
    ASSERT_TRUE(making->Commit().ok());
    const auto drains_of = [&](int ranges, bool declare) {
      const uint64_t before = region.drains();
      auto transaction = begin();
      std::vector<Intent> intents;
      for (uint32_t i = 0; i < static_cast<uint32_t>(ranges); ++i) {
        intents.push_back({id, 100 * i, 8});
      }
      if (declare) {
        EXPECT_TRUE(transaction->Declare(intents).ok());
      }
      for (const Intent& intent : intents) {
        if (declare) {
          EXPECT_TRUE(transaction->Write(id, intent.offset, 8).ok());
        } else {
          EXPECT_TRUE(
              transaction->Overwrite(id, intent.offset, BytesOf("01234567"))
                  .ok());
        }
      }
      EXPECT_TRUE(transaction->Commit().ok());
      return region.drains() - before;
    };
    EXPECT_EQ(drains_of(1, false), expected.one) << expected.name;
    EXPECT_EQ(drains_of(8, false), expected.eight) << expected.name;
    EXPECT_EQ(drains_of(8, true), expected.declared) << expected.name;
    EXPECT_EQ(
        [&] {
          const uint64_t before = region.drains();
          auto reading = begin();
          EXPECT_TRUE(reading->Read(id).ok());
          EXPECT_TRUE(reading->Commit().ok());
          return region.drains() - before;
        }(),
        0u);
  }
}

}  // namespace
}  // namespace kamino::engine
