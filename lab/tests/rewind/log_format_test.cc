// This release opens a store that release 0.1.0 left, after a crash or closed,
// with all its content; release 0.1.0 then no longer opens it.
#include "lab/rewind/log_format.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "lab/rewind/rewind_recovery.h"
#include "lab/rewind/rewind_store.h"

namespace kamino::engine {
namespace {

using rewind_format::LogFormat;

constexpr size_t kBytes = Heap::kMinBytes;
constexpr uint64_t kSequence = 41;

class LogFormatTest : public ::testing::TestWithParam<RewindOptions> {
 protected:
  // Two objects, in a store of release 0.1.0.
  LogFormatTest() {
    auto store = *RewindStore::Open(GetParam(), heap_.get());
    auto transaction = store->Begin(absl::ZeroDuration());
    committed_ = *transaction->Alloc(100);
    live_ = *transaction->Alloc(100);
    EXPECT_TRUE(transaction->Commit().ok());
    store.reset();
    std::memset(heap_->log_area().data(), 0, heap_->log_area().size());
    region_.Persist(heap_->log_area().data(), heap_->log_area().size());
    log_ =
        std::make_unique<RewindLog>(heap_.get(), GetParam(), LogFormat::kPlain);
    log_->Reset(0);
  }

  Draft UpdateOf(ObjectId id, const char* bytes) {
    Draft draft;
    draft.address = id;
    draft.length = 4;
    draft.old_bytes = region_.base() + id;
    draft.new_bytes = reinterpret_cast<const std::byte*>(bytes);
    return draft;
  }

  // One transaction that has committed, and one under way.
  void Work() {
    const Draft good = UpdateOf(committed_, "good");
    ASSERT_TRUE(log_->AppendEnd(&own_, {&good, 1}, kSequence).ok());
    std::memcpy(region_.base() + committed_, "good", 4);
    region_.Persist(region_.base() + committed_, 4);
    const Draft evil = UpdateOf(live_, "evil");
    ASSERT_TRUE(log_->Append(&other_, {&evil, 1}).ok());
    std::memcpy(region_.base() + live_, "evil", 4);
    region_.Persist(region_.base() + live_, 4);
  }

  SimRegion::Image Now() const {
    return SimRegion::Image(region_.durable(), region_.durable() + kBytes);
  }

  // Opens it and checks its content; a drain hook watches the opening.
  void Check(SimRegion* after) {
    auto heap = *Heap::Open(after);
    auto store = RewindStore::Open(GetParam(), heap.get());
    after->SetDrainHook(nullptr);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ((*store)->recovery_report().last_sequence, kSequence);
    EXPECT_EQ(std::memcmp(after->base() + committed_, "good", 4), 0);
    EXPECT_EQ(std::memcmp(after->base() + live_, "\0\0\0\0", 4), 0);
    EXPECT_EQ(*LogFormatOf(*heap), LogFormat::kChecked);
    // The first steps of 0.1.0.
    RewindLog plain(heap.get(), GetParam(), LogFormat::kPlain);
    absl::Status looked = plain.Finish();
    if (looked.ok()) looked = plain.Scan().status();
    EXPECT_TRUE(absl::IsDataLoss(looked)) << looked;
    auto transaction = (*store)->Begin(absl::ZeroDuration());
    ASSERT_TRUE(transaction->Free(live_).ok());
    EXPECT_TRUE(transaction->Commit().ok());
  }

  SimRegion region_{kBytes};
  std::unique_ptr<Heap> heap_ = *Heap::Create(&region_, GetParam().Name());
  ObjectId committed_ = kNullObject;
  ObjectId live_ = kNullObject;
  std::unique_ptr<RewindLog> log_;
  OwnRecords own_;
  OwnRecords other_;
};

INSTANTIATE_TEST_SUITE_P(
    Twelve, LogFormatTest, ::testing::ValuesIn(AllRewinds()),
    [](const ::testing::TestParamInfo<RewindOptions>& info) {
      std::string name = info.param.Name();
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

// Also after a crash anywhere within that opening, by the next one.
TEST_P(LogFormatTest, ACrashedStoreOfTheOldFormatIsRecovered) {
  Work();
  SimRegion after(Now());
  std::vector<SimRegion::Image> within;
  after.SetDrainHook([&] {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      within.push_back(after.CrashImage(seed));
    }
  });
  Check(&after);
  EXPECT_GT(within.size(), 20u);
  for (size_t i = 0; i < within.size(); ++i) {
    SimRegion again(within[i]);
    auto heap = *Heap::Open(&again);
    auto store = RewindStore::Open(GetParam(), heap.get());
    ASSERT_TRUE(store.ok()) << store.status() << ", image " << i;
    EXPECT_EQ((*store)->recovery_report().last_sequence, kSequence) << i;
    EXPECT_EQ(std::memcmp(again.base() + committed_, "good", 4), 0) << i;
    EXPECT_EQ(std::memcmp(again.base() + live_, "\0\0\0\0", 4), 0) << i;
  }
}

// 0.1.0 leaves an empty bucket in the list, and its counters.
TEST_P(LogFormatTest, AClosedStoreOfTheOldFormatIsOpened) {
  Work();
  log_->AppendAborted(&other_);
  if (GetParam().force) {
    log_->Clear(&own_);
    log_->Clear(&other_);
  } else {
    log_->Finished(&own_);
    log_->Finished(&other_);
    log_->Checkpoint();
  }
  std::memset(region_.base() + live_, 0, 4);
  region_.Persist(region_.base() + live_, 4);
  SimRegion after(Now());
  Check(&after);
}

TEST_P(LogFormatTest, ALaterFormatIsRefusedAndNotTouched) {
  const SimRegion::Image before = Now();
  SimRegion after(before);
  auto heap = *Heap::Open(&after);
  WordsOf(*heap, LogFormat::kChecked).Persist(&LogHeaderOf(*heap)->format, 3);
  const SimRegion::Image later(after.base(), after.base() + kBytes);
  const auto opened = RewindStore::Open(GetParam(), heap.get()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(opened));
  EXPECT_EQ(opened.message(),
            "the log is of format 3; this program knows 1 and 2");
  EXPECT_EQ(std::memcmp(after.base(), later.data(), kBytes), 0);
  LogHeaderOf(*heap)->format ^= 1;
  EXPECT_TRUE(
      absl::IsDataLoss(RewindStore::Open(GetParam(), heap.get()).status()));
}

// A medium may return zeros for a lost line.
TEST_P(LogFormatTest, AHeaderWithALostLineIsDamage) {
  Work();
  SimRegion after(Now());
  Check(&after);
  for (const size_t line : {0, 64}) {
    SimRegion lost(SimRegion::Image(after.base(), after.base() + kBytes));
    auto heap = *Heap::Open(&lost);
    std::memset(heap->log_area().data() + line, 0, 64);
    EXPECT_TRUE(
        absl::IsDataLoss(RewindStore::Open(GetParam(), heap.get()).status()))
        << line;
  }
}

// A medium may also lose a line of a bucket, of a record or of the tree.
TEST_P(LogFormatTest, AnElementWithALostLineIsDamage) {
  Work();
  SimRegion lost(Now());
  auto heap = *Heap::Open(&lost);
  const rewind_format::LogHeader& header = *LogHeaderOf(*heap);
  // With two layers the list has nothing, as no change of the tree is under
  // way.
  uint64_t element = header.plain_marks.root;
  if (GetParam().layers == 1) {
    ASSERT_NE(header.plain_list.head, 0u);
    rewind_format::Node node;
    std::memcpy(&node, lost.base() + header.plain_list.head, sizeof(node));
    element = node.element;
  }
  ASSERT_NE(element, 0u);
  std::memset(lost.base() + element, 0, rewind_format::kUnitBytes);
  EXPECT_TRUE(
      absl::IsDataLoss(RewindStore::Open(GetParam(), heap.get()).status()));
}

// 0.1.0 recorded all 64 bits of a sequence.
TEST_P(LogFormatTest, ALargeSequenceIsKept) {
  log_->Reset(UINT64_MAX - 1);
  SimRegion after(Now());
  auto heap = *Heap::Open(&after);
  for (int opening = 0; opening < 2; ++opening) {
    auto store = RewindStore::Open(GetParam(), heap.get());
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ((*store)->recovery_report().last_sequence, UINT64_MAX - 1);
  }
}

}  // namespace
}  // namespace kamino::engine
