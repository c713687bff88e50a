// What a log promises between two calls of one transaction, when a checkpoint
// of another thread comes between them.
#include "engine/baselines/rewind/rewind_log.h"

#include <cstring>
#include <memory>
#include <string>

#include "engine/baselines/rewind/rewind_store.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

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

  // What an object begins with after a crash that keeps what is durable.
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

// The floor must not pass the end of one that was taken back before what that
// has stored can be flushed: recovery would not look at it any more.
TEST_P(RewindLogTest, ACheckpointWaitsForWhatWasTakenBack) {
  RewindLog log(heap_.get(), options_);
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

INSTANTIATE_TEST_SUITE_P(All, RewindLogTest,
                         ::testing::Values(LogForm::kSimple,
                                           LogForm::kOptimized,
                                           LogForm::kBatch));

}  // namespace
}  // namespace kamino::engine
