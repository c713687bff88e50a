// The log's guarantees between two calls of one transaction, when another
// thread's checkpoint comes between them.
#include "lab/rewind/rewind_log.h"

#include <xxhash.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "engine/baselines/log_seed.h"
#include "engine/pmem/sim_region.h"
#include "engine/resource_error.h"
#include "gtest/gtest.h"
#include "lab/rewind/checked_words.h"
#include "lab/rewind/log_format.h"
#include "lab/rewind/rewind_store.h"
#include "tests/faults/planted.h"

namespace kamino::engine {
namespace {

using rewind_format::LogFormat;

class RewindLogTest : public ::testing::TestWithParam<LogForm> {
 protected:
  RewindLogTest() {
    auto store = *RewindStore::Open(options_, heap_.get());
    auto transaction = store->Begin(absl::ZeroDuration());
    for (ObjectId* id : {&committed_, &aborted_}) {
      *id = *transaction->Alloc(100);
    }
    EXPECT_TRUE(transaction->Commit().ok());
    store->Quiesce();
  }

  Draft UpdateOf(ObjectId id, const char* bytes) {
    Draft draft;
    draft.address = id;
    draft.length = 4;
    draft.old_bytes = region_.base() + id;
    draft.new_bytes = reinterpret_cast<const std::byte*>(bytes);
    return draft;
  }

  // The beginning of an object after a crash that keeps only durable bytes.
  std::string TextAfterCrash(ObjectId id) {
    SimRegion after(SimRegion::Image(region_.durable(),
                                     region_.durable() + region_.size()));
    auto heap = Heap::Open(&after);
    EXPECT_TRUE(heap.ok()) << heap.status();
    auto store = RewindStore::Open(options_, heap->get());
    EXPECT_TRUE(store.ok()) << store.status();
    auto transaction = (*store)->Begin(absl::ZeroDuration());
    auto bytes = transaction->Read(id);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return std::string(reinterpret_cast<const char*>(bytes->data()), 4);
  }

  static RewindOptions Options() {
    RewindOptions options;
    options.form = GetParam();
    return options;
  }

  const RewindOptions options_ = Options();
  SimRegion region_{Heap::kMinBytes};
  std::unique_ptr<Heap> heap_ = *Heap::Create(&region_, options_.Name());
  ObjectId committed_ = kNullObject;
  ObjectId aborted_ = kNullObject;
};

// The floor must not pass the end of an aborted transaction before its stores
// can be flushed: recovery would not look at it any more.
TEST_P(RewindLogTest, ACheckpointWaitsForAbortedTransactions) {
  RewindLog log(heap_.get(), options_, LogFormat::kChecked);
  log.Reset(0);
  OwnRecords other;
  const Draft committed = UpdateOf(committed_, "good");
  ASSERT_TRUE(log.AppendEnd(&other, {&committed, 1}, 1).ok());
  std::memcpy(region_.base() + committed_, "good", 4);
  log.Finished(&other);

  OwnRecords own;
  const Draft update = UpdateOf(aborted_, "evil");
  ASSERT_TRUE(log.Append(&own, {&update, 1}).ok());
  std::memcpy(region_.base() + aborted_, "evil", 4);
  region_.Persist(region_.base() + aborted_, 4);  // the cache evicts it
  const LogRecord undone = own.records[0];
  const LogRecord* const undo = &undone;
  log.AppendCompensations(&own, {&undo, 1});
  std::memset(region_.base() + aborted_, 0, 4);
  log.AppendAborted(&own);
  log.Checkpoint();
  EXPECT_EQ(TextAfterCrash(aborted_), std::string(4, '\0'));
  EXPECT_EQ(TextAfterCrash(committed_), "good");
  log.Finished(&own);
  log.Checkpoint();
  EXPECT_EQ(TextAfterCrash(aborted_), std::string(4, '\0'));
}

// Its check is right, as in a later release.
TEST_P(RewindLogTest, ARecordOfAnUnknownTypeIsDamage) {
  RewindLog log(heap_.get(), options_, LogFormat::kChecked);
  log.Reset(0);
  OwnRecords own;
  const Draft update = UpdateOf(committed_, "good");
  ASSERT_TRUE(log.Append(&own, {&update, 1}).ok());
  const uint64_t offset = own.records[0].indexed.record;
  auto* const header =
      reinterpret_cast<rewind_format::RecordHeader*>(region_.base() + offset);
  for (const uint8_t type : {0, 6}) {
    header->type = type;
    // It has no data.
    header->check = XXH3_64bits_withSeed(
        header, offsetof(rewind_format::RecordHeader, check),
        LogSeed(heap_->uuid()) ^ offset);
    EXPECT_TRUE(absl::IsDataLoss(log.Scan().status())) << int{type};
  }
}

// Damage that would make recovery visit one record endlessly.
TEST_P(RewindLogTest, ADuplicateRecordIsDamage) {
  RewindLog log(heap_.get(), options_, LogFormat::kChecked);
  log.Reset(0);
  OwnRecords own;
  const Draft updates[] = {UpdateOf(committed_, "good"),
                           UpdateOf(aborted_, "evil")};
  ASSERT_TRUE(log.Append(&own, updates).ok());
  ASSERT_EQ(own.records.size(), 2u);
  const uint64_t place =
      own.records[1].indexed.place +
      (GetParam() == LogForm::kSimple ? offsetof(rewind_format::Node, element)
                                      : 0);
  const CheckedWords words(&region_, LogSeed(heap_->uuid()));
  uint64_t* const word = words.WordAt(place);
  ASSERT_EQ(*words.Read(word), own.records[1].indexed.record);
  words.Store(word, own.records[0].indexed.record);
  SimRegion after(
      SimRegion::Image(region_.base(), region_.base() + region_.size()));
  auto heap = *Heap::Open(&after);
  EXPECT_TRUE(
      absl::IsDataLoss(RewindStore::Open(options_, heap.get()).status()));
}

// A transaction takes all of the log that others do not, in a heap without
// space.
class FullRewindLogTest : public ::testing::Test {
 protected:
  FullRewindLogTest() {
    for (uint32_t size = kMaxObjectBytes; size > 0; size /= 2) {
      while (heap_->Reserve(size).ok()) {
      }
    }
    BeginChecked(heap_.get(), 0);
    log_.Reset(0);
    const Draft update = Update();
    EXPECT_TRUE(log_.AppendEnd(&other_, {&update, 1}, 1).ok());
  }

  Draft Update() {
    Draft draft;
    draft.address = heap_->root();
    draft.length = 4;
    draft.old_bytes = draft.new_bytes = region_.base() + heap_->root();
    return draft;
  }

  // Appends until a refusal, and returns its resource.
  std::optional<Resource> Fill() {
    const Draft update = Update();
    absl::Status appended;
    while (appended.ok()) appended = log_.Append(&own_, {&update, 1});
    return ResourceOf(appended);
  }

  const RewindOptions options_;
  SimRegion region_{Heap::kMinTinyBytes};
  std::unique_ptr<Heap> heap_ =
      *Heap::CreateWithLog(&region_, options_.Name(), 8u << 10);
  RewindLog log_{heap_.get(), options_, LogFormat::kChecked};
  OwnRecords other_;  // has its end, and stores
  OwnRecords own_;
};

TEST_F(FullRewindLogTest, ATransactionIsTooLargeOnlyAfterOtherRecordsAreGone) {
  EXPECT_EQ(Fill(), Resource::kLog);
  EXPECT_FALSE(log_.Checkpoint());
  EXPECT_EQ(Fill(), Resource::kLog);
  log_.Finished(&other_);
  EXPECT_EQ(Fill(), Resource::kLog);
  // While a checkpoint makes the floor durable.
  bool tried = false;
  const uint64_t floor = log_.ReadMarks()->floor;
  region_.SetDrainHook([&] {
    if (tried || log_.ReadMarks()->floor == floor) return;
    tried = true;
    EXPECT_EQ(Fill(), Resource::kLog);
  });
  EXPECT_TRUE(log_.Checkpoint());
  region_.SetDrainHook(nullptr);
  EXPECT_TRUE(tried);
  const size_t before = own_.records.size();
  EXPECT_EQ(Fill(), Resource::kTransaction);
  EXPECT_GT(own_.records.size(), before);
}

TEST_F(FullRewindLogTest, LargeRecordsUseTheLogWhenTheHeapIsFull) {
  Draft large = Update();
  large.length = 4096;
  large.old_bytes = nullptr;
  EXPECT_TRUE(log_.Append(&own_, {&large, 1}).ok());
  EXPECT_EQ(log_.blocks(), 0u);
}

TEST_F(FullRewindLogTest, PlantedFaultReportsTheTransactionTooLarge) {
  faults::Planted planted("rewind-ended-counts-as-gone");
  EXPECT_EQ(Fill(), Resource::kTransaction);
}

INSTANTIATE_TEST_SUITE_P(All, RewindLogTest,
                         ::testing::Values(LogForm::kSimple,
                                           LogForm::kOptimized,
                                           LogForm::kBatch));

}  // namespace
}  // namespace kamino::engine
