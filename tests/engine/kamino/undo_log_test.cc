// Records of an undo log: which of them a crash leaves, and their rollback.
#include "engine/kamino/undo_log.h"

#include <cstring>
#include <memory>
#include <string>

#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"

namespace kamino::engine {
namespace {

constexpr size_t kHeapBytes = Heap::kMinTinyBytes * 2;
constexpr uint32_t kBytes = 200;

class UndoLogTest : public ::testing::Test {
 protected:
  UndoLogTest()
      : heap_(*Heap::CreateWithLog(&heap_region_, "test", 16384)),
        log_(*UndoLog::Create(heap_.get(), &region_)) {
    for (ObjectId* id : {&a_, &b_}) {
      *id = *heap_->Reserve(kBytes);
      heap_->states().MarkAllocated(*id);
    }
    Store(a_, std::string(kBytes, 'a'));
    Store(b_, std::string(kBytes, 'b'));
    heap_region_.Drain();
  }

  void Store(ObjectId id, const std::string& text, uint32_t offset = 0) {
    heap_region_.CopyFlush(heap_region_.base() + id + offset, text.data(),
                           text.size());
  }
  std::string Text(ObjectId id, uint32_t offset, uint32_t length) {
    return {reinterpret_cast<const char*>(heap_region_.base()) + id + offset,
            length};
  }
  absl::Status Save(uint64_t number, const WriteSet& write_set) {
    absl::Status saved = log_->Save(number, write_set);
    region_.Drain();
    return saved;
  }
  // The log as a restart finds it.
  void Restart() {
    region_.Reset(region_.CrashImage(1).data());
    log_ = *UndoLog::Open(heap_.get(), &region_);
  }

  // Two records are dropped, and a restart finds the next log, which begins
  // with a record like the first of them.
  void FollowAnotherLog() {
    ASSERT_TRUE(Save(7, {{a_, 0, 3, IntentKind::kWrite}}).ok());
    Store(a_, "old");
    ASSERT_TRUE(Save(8, {{a_, 0, 3, IntentKind::kWrite}}).ok());
    Store(a_, "and");
    Restart();
    log_->RollBack(6);
    log_ = *UndoLog::Create(heap_.get(), &region_);
    ASSERT_TRUE(Save(7, {{a_, 0, 3, IntentKind::kWrite}}).ok());
    Store(a_, "new");
    Restart();
  }

  SimRegion heap_region_{kHeapBytes};
  SimRegion region_{UndoLog::RegionBytes(8192)};
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<UndoLog> log_;
  ObjectId a_ = 0;
  ObjectId b_ = 0;
};

TEST_F(UndoLogTest, RollsBackInReverseOrder) {
  ASSERT_TRUE(Save(7, {{a_, 10, 20, IntentKind::kWrite},
                       {b_, 0, 3, IntentKind::kWrite},
                       {b_, 0, kBytes, IntentKind::kFree}})
                  .ok());
  Store(a_, "new", 10);
  Store(b_, "new");
  // Once more, for bytes that have changed since.
  ASSERT_TRUE(Save(7, {{a_, 8, 10, IntentKind::kWrite}}).ok());
  Store(a_, "newer", 8);
  Restart();
  EXPECT_EQ(log_->newest(), 7u);
  log_->RollBack(6);
  EXPECT_EQ(Text(a_, 0, kBytes), std::string(kBytes, 'a'));
  EXPECT_EQ(Text(b_, 0, kBytes), std::string(kBytes, 'b'));
}

TEST_F(UndoLogTest, KeepsCommittedTransactions) {
  ASSERT_TRUE(Save(7, {{a_, 0, 3, IntentKind::kWrite}}).ok());
  Store(a_, "new");
  ASSERT_TRUE(Save(8, {{b_, 0, 3, IntentKind::kWrite}}).ok());
  Store(b_, "new");
  Restart();
  log_->RollBack(7);
  EXPECT_EQ(Text(a_, 0, 4), "newa");
  EXPECT_EQ(Text(b_, 0, 4), "bbbb");
}

TEST_F(UndoLogTest, IgnoresRecordsOfAnEarlierRound) {
  ASSERT_TRUE(Save(7, {{a_, 0, 3, IntentKind::kWrite}}).ok());
  Store(a_, "new");
  ASSERT_TRUE(Save(7, {{a_, 0, 3, IntentKind::kWrite}}).ok());
  log_->RollBack(6);
  log_->Reuse();
  // In the place of the first one, and as long.
  ASSERT_TRUE(Save(7, {{b_, 0, 3, IntentKind::kWrite}}).ok());
  Restart();
  log_->RollBack(6);
  EXPECT_EQ(Text(a_, 0, 4), "aaaa");  // not as the second one had it
}

// Dropped records left their numbers to others, which begin alike.
TEST_F(UndoLogTest, IgnoresRecordsOfAnotherLog) {
  FollowAnotherLog();
  EXPECT_EQ(log_->newest(), 7u);
  log_->RollBack(7);
  EXPECT_EQ(Text(a_, 0, 4), "newa");
}

TEST_F(UndoLogTest, PlantedFaultFindsRecordsOfAnotherLog) {
  faults::Planted planted("undo-log-begins-as-the-last-one");
  FollowAnotherLog();
  EXPECT_EQ(log_->newest(), 8u);
}

TEST_F(UndoLogTest, IgnoresForgottenRecords) {
  ASSERT_TRUE(Save(7, {{a_, 0, 3, IntentKind::kWrite}}).ok());
  log_->Forget();
  Restart();
  EXPECT_TRUE(log_->empty());
}

TEST_F(UndoLogTest, IgnoresTornRecords) {
  ASSERT_TRUE(Save(7, {{a_, 0, 100, IntentKind::kWrite}}).ok());
  const uint64_t first = log_->bytes_used();
  ASSERT_TRUE(Save(7, {{b_, 0, 100, IntentKind::kWrite}}).ok());
  const uint64_t both = log_->bytes_used();
  for (uint64_t at = 0; at < 32 + 16 + 100; ++at) {
    std::byte* byte =
        region_.base() + undo_copy_format::kHeaderBytes + first + at;
    *byte ^= std::byte{1};
    EXPECT_EQ((*UndoLog::Open(heap_.get(), &region_))->bytes_used(), first)
        << at;
    *byte ^= std::byte{1};
  }
  EXPECT_EQ((*UndoLog::Open(heap_.get(), &region_))->bytes_used(), both);
}

TEST_F(UndoLogTest, RoomMatchesBytesFor) {
  ASSERT_TRUE(Save(7, {{a_, 0, 100, IntentKind::kWrite}}).ok());
  const uint64_t used = log_->bytes_used();
  const WriteSet many(50, {b_, 0, kBytes, IntentKind::kWrite});
  EXPECT_TRUE(absl::IsResourceExhausted(Save(7, many)));
  EXPECT_EQ(log_->bytes_used(), used);
  log_->Reuse();
  WriteSet some(30, {b_, 0, kBytes, IntentKind::kWrite});
  EXPECT_LE(UndoLog::BytesFor(some.size(), some.size() * kBytes), 8192u);
  EXPECT_TRUE(Save(8, some).ok());
  EXPECT_LE(log_->bytes_used(),
            UndoLog::BytesFor(some.size(), some.size() * kBytes));
}

// A damaged log entry may name such ranges.
TEST_F(UndoLogTest, SkipsRangesOutsideTheHeap) {
  EXPECT_TRUE(Save(7, {{1ull << 60, 0, 8, IntentKind::kWrite},
                       {64, 0, 8, IntentKind::kWrite},
                       {kHeapBytes - 64, 0, 65, IntentKind::kWrite},
                       {~0ull - 10, 100, 8, IntentKind::kWrite}})
                  .ok());
  EXPECT_TRUE(log_->empty());
}

TEST_F(UndoLogTest, RefusesAnotherHeapsLog) {
  SimRegion other_region(kHeapBytes);
  const auto other = *Heap::CreateWithLog(&other_region, "test", 16384);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      UndoLog::Open(other.get(), &region_).status()));
}

}  // namespace
}  // namespace kamino::engine
