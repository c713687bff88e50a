// Crashes through a cache: what is counted, and that nothing wrong goes by.
#include "lab/crash_model/crash_model.h"

#include <cstring>
#include <memory>
#include <vector>

#include "glog/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::bench::crash_model {
namespace {

using engine::ArchaptStore;
using engine::Heap;
using engine::ObjectId;
using ::testing::HasSubstr;

// --- The oracle.

TEST(OracleTest, ListsTheObjectsOfEachSequence) {
  Oracle oracle;
  const std::vector<Change> first = {{64, 8, 100}, {128, 8, 200}};
  oracle.Add(1, first, 0);
  const std::vector<Change> second = {{64, 8, 101}, {192, 16, 300}};
  oracle.Add(2, second, 1);
  const std::vector<Change> third = {{128}};
  oracle.Add(3, third, 1);

  std::vector<ExpectedObject> objects = oracle.AsOf(1);
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].id, 64u);
  EXPECT_EQ(objects[0].hash, 100u);
  EXPECT_FALSE(objects[0].settled);
  objects = oracle.AsOf(2);
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_EQ(objects[0].hash, 101u);
  EXPECT_TRUE(objects[0].settled);
  EXPECT_FALSE(objects[1].settled);
  EXPECT_EQ(oracle.AsOf(3).size(), 2u);
  EXPECT_EQ(oracle.Places().size(), 3u);

  oracle.RemoveLast(3, third);
  EXPECT_EQ(oracle.AsOf(3).size(), 3u);
  EXPECT_TRUE(oracle.AsOf(3)[1].settled);
}

TEST(OracleTest, ForgetsVersionsBelowTheDurableSequence) {
  Oracle oracle;
  for (uint64_t i = 1; i <= 3; ++i) {
    const Change change{64, 8, i};
    oracle.Add(i, {&change, 1}, i - 1);
  }
  EXPECT_EQ(oracle.AsOf(2)[0].hash, 2u);
  EXPECT_TRUE(oracle.AsOf(1).empty());
}

// --- An image that is recovered.

class RecoverTest : public ::testing::Test {
 protected:
  static constexpr size_t kBytes = 8u << 20;

  RecoverTest() : region_(kBytes, {}), image_(kBytes) {
    options_.queue_bytes = 1u << 16;
    auto heap = Heap::CreateWithLog(&region_, engine::kArchaptName, 1u << 20);
    CHECK(heap.ok()) << heap.status();
    heap_ = *std::move(heap);
    auto store = ArchaptStore::Open(options_, heap_.get());
    CHECK(store.ok()) << store.status();
    store_ = *std::move(store);
    watched_ = std::make_unique<WatchedStore>(store_.get(), &region_);
  }

  ObjectId Put(char value) {
    const auto transaction = watched_->Begin(absl::ZeroDuration());
    const auto id = transaction->Alloc(1000);
    CHECK(id.ok()) << id.status();
    const std::vector<std::byte> bytes(1000, std::byte(value));
    CHECK(transaction->Overwrite(*id, 0, bytes).ok());
    CHECK(transaction->Commit().ok());
    return *id;
  }

  absl::StatusOr<CrashCounts> RecoverImage(uint64_t durable) {
    return Recover(&image_, options_,
                   {&watched_->oracle(), durable, watched_->last_sequence()});
  }
  absl::StatusOr<CrashCounts> RecoverImage() {
    return RecoverImage(watched_->durable_sequence());
  }

  engine::ArchaptOptions options_;
  CachedRegion region_;
  engine::PlainRegion image_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<ArchaptStore> store_;
  std::unique_ptr<WatchedStore> watched_;
};

TEST_F(RecoverTest, DurableObjectsAreFoundAndLaterOnesMayBeLost) {
  Put('a');
  store_->Quiesce();
  EXPECT_EQ(watched_->durable_sequence(), 1u);
  Put('b');
  region_.Crash(1, image_.base());
  const auto counts = RecoverImage();
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->inconsistent, 0u);
  EXPECT_EQ(counts->wrong, 0u);
}

TEST_F(RecoverTest, AWrongByteIsCounted) {
  const ObjectId id = Put('a');
  Put('b');
  store_->Quiesce();
  region_.Crash(1, image_.base());
  image_.base()[id + 17] = std::byte{'x'};
  const auto counts = RecoverImage();
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->inconsistent, 1u);
  EXPECT_EQ(counts->found, 0u);
  EXPECT_EQ(counts->lost, 0u);
  EXPECT_EQ(counts->wrong, 1u);
}

TEST_F(RecoverTest, ALostDurableTransactionIsAnError) {
  Put('a');
  store_->Quiesce();
  region_.Crash(1, image_.base());
  Put('b');
  store_->Quiesce();
  const absl::Status wrong = RecoverImage().status();
  EXPECT_THAT(std::string(wrong.message()),
              HasSubstr("up to 1, where those up to 2 were durable"));
}

TEST_F(RecoverTest, AMissingObjectIsAnError) {
  const ObjectId id = Put('a');
  store_->Quiesce();
  region_.Crash(1, image_.base());
  // Its header says that the block is free.
  heap_->states().Store(id, false);
  std::memcpy(image_.base() + id - 16, region_.base() + id - 16, 16);
  EXPECT_THAT(std::string(RecoverImage().status().message()),
              HasSubstr("recovery found 1 objects of 2"));
}

TEST_F(RecoverTest, AFreedObjectIsNotExpected) {
  const ObjectId id = Put('a');
  {
    const auto transaction = watched_->Begin(absl::ZeroDuration());
    ASSERT_TRUE(transaction->Free(id).ok());
    ASSERT_TRUE(transaction->Commit().ok());
  }
  store_->Quiesce();
  region_.Crash(1, image_.base());
  EXPECT_EQ(watched_->oracle().AsOf(2).size(), 1u);
  const auto counts = RecoverImage(2);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->wrong, 0u);
}

// --- Workloads.

CrashModelOptions Small() {
  CrashModelOptions options;
  options.scale = Scale::kCount;
  // A small part of the data, so that much leaves the queue between crashes.
  options.cache.bytes = 512u << 10;
  options.archapt.queue_bytes = options.cache.bytes;
  options.archapt.gainful_only = false;
  options.crashes = 10;
  options.transactions = 200;
  options.warm_up = 5000;
  return options;
}

absl::StatusOr<CrashRow> RunOne(const CrashModelOptions& options, char letter) {
  auto model = CrashModel::Make(options);
  if (!model.ok()) return model.status();
  return (*model)->Run(letter);
}

TEST(CrashModelTest, EveryInconsistentObjectIsFound) {
  const auto row = RunOne(Small(), 'a');
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->workload, "ycsb-a");
  EXPECT_EQ(row->crashes, 10u);
  EXPECT_EQ(row->transactions, 7000u);
  const CrashCounts& counts = row->counts;
  EXPECT_GT(counts.inconsistent, 10u);
  EXPECT_EQ(counts.found, counts.inconsistent);
  EXPECT_EQ(counts.repaired + counts.lost, counts.found);
  EXPECT_GT(counts.repaired, 0u);
  EXPECT_EQ(counts.wrong + counts.lost_needlessly, 0u);
}

TEST(CrashModelTest, ASeedIsReproducible) {
  const auto first = RunOne(Small(), 'a');
  const auto second = RunOne(Small(), 'a');
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->counts.inconsistent, second->counts.inconsistent);
  EXPECT_EQ(first->counts.repaired, second->counts.repaired);
  CrashModelOptions other = Small();
  other.seed = 2;
  const auto third = RunOne(other, 'a');
  ASSERT_TRUE(third.ok());
  EXPECT_NE(first->counts.repaired_lines, third->counts.repaired_lines);
}

TEST(CrashModelTest, ALongQueueLeavesNoObjectInconsistent) {
  CrashModelOptions options = Small();
  options.archapt.queue_bytes = 3 * options.cache.bytes;
  const auto row = RunOne(options, 'a');
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->counts.inconsistent, 0u);
}

TEST(CrashModelTest, WorkloadsWithInsertsAndScansRun) {
  auto model = CrashModel::Make(Small());
  ASSERT_TRUE(model.ok()) << model.status();
  for (const char letter : {'d', 'e'}) {
    const auto row = (*model)->Run(letter);
    ASSERT_TRUE(row.ok()) << row.status();
    EXPECT_EQ(row->crashes, 10u);
    EXPECT_EQ(row->counts.wrong + row->counts.lost_needlessly, 0u);
  }
  EXPECT_TRUE(absl::IsInvalidArgument((*model)->Run('x').status()));
}

}  // namespace
}  // namespace kamino::bench::crash_model
