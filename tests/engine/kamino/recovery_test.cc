// Recovery where several transactions were unfinished at once.
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::engine {
namespace {

constexpr uint32_t kLarge = 700 << 10;

class RecoveryTest : public ::testing::TestWithParam<Scheme> {
 protected:
  RecoveryTest() : under_(GetParam()) {}

  // Commits as number 42.
  void Commit(Transaction& transaction) {
    CommitOptions options;
    options.sequence = 42;
    ASSERT_TRUE(transaction.Commit(options).ok());
  }

  // Recovers and checks images of crashes at this moment.
  void CrashNow(const std::function<void(StoreUnderTest&)>& look) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(seed);
      StoreUnderTest after(GetParam(), under_.heap_region().CrashImage(seed),
                           under_.undo_copy_region().CrashImage(seed));
      ASSERT_TRUE(after.Recover().ok());
      look(after);
    }
  }

  StoreUnderTest under_;
};

// Making a copy of a new object may evict another object's; never one that is
// needed to roll another slot back.
TEST_P(RecoveryTest, RollForwardKeepsCopiesNeededToRollBack) {
  under_.Make(std::string(kLarge, 'a'));
  under_.Make(std::string(kLarge, 'b'));
  const ObjectId id = under_.Make(std::string(kLarge, 'c'));

  auto committed = under_.Begin();
  const ObjectId made = *committed->Alloc(1 << 20);
  Overwrite(*committed, made, "new");
  ASSERT_TRUE(committed->Commit().ok());
  auto running = under_.Begin();
  Overwrite(*running, id, "torn");

  StoreUnderTest after(GetParam(), under_.heap_region().CrashImage(1),
                       under_.undo_copy_region().CrashImage(1));
  const absl::Status recovered = after.Recover();
  ASSERT_TRUE(recovered.ok()) << recovered;
  EXPECT_EQ(after.Text(id, 4), "cccc");
  EXPECT_EQ(after.Text(made, 3), "new");
}

// A commit that was reported stays, whatever a transaction under way has stored
// over it.
TEST_P(RecoveryTest, LastSequenceIncludesOverwrittenCommits) {
  const ObjectId id = under_.Make("first");
  auto transaction = under_.Begin();
  Overwrite(*transaction, id, "other");
  Commit(*transaction);
  under_.Propagate();
  auto running = under_.Begin();
  Overwrite(*running, id, "third");
  CrashNow([&](StoreUnderTest& after) {
    EXPECT_EQ(after.Text(id, 5), "other");
    EXPECT_EQ(after.store().last_sequence(), 42u);
  });
}

TEST_P(RecoveryTest, LastSequenceIncludesFreesWithReusedSpace) {
  const ObjectId id = under_.Make(std::string(kLarge, 'a'));
  auto transaction = under_.Begin();
  ASSERT_TRUE(transaction->Free(id).ok());
  Commit(*transaction);
  under_.Propagate();
  auto running = under_.Begin();
  ASSERT_TRUE(running->Alloc(kLarge + (100 << 10)).ok());
  ASSERT_TRUE(running->Alloc(kLarge / 2).ok());
  CrashNow([](StoreUnderTest& after) {
    EXPECT_EQ(after.store().last_sequence(), 42u);
  });
}

TEST_P(RecoveryTest, LastSequenceIsKnownAfterASecondCrash) {
  const ObjectId id = under_.Make("first");
  auto transaction = under_.Begin();
  Overwrite(*transaction, id, "other");
  Commit(*transaction);
  StoreUnderTest once(GetParam(), under_.heap_region().CrashImage(1),
                      under_.undo_copy_region().CrashImage(1));
  ASSERT_TRUE(once.Recover().ok());
  StoreUnderTest twice(GetParam(), once.heap_region().CrashImage(1),
                       once.undo_copy_region().CrashImage(1));
  ASSERT_TRUE(twice.Recover().ok());
  EXPECT_EQ(twice.store().last_sequence(), 42u);
}

INSTANTIATE_TEST_SUITE_P(Schemes, RecoveryTest,
                         ::testing::ValuesIn(kAllSchemes), SchemeName);

// The log is so small that its records are replaced all the time.
class TinyLogTest : public ::testing::Test {
 protected:
  static constexpr size_t kHeapBytes = 192u << 10;
  static constexpr uint32_t kObjects = 7;

  TinyLogTest()
      : heap_region_(kHeapBytes),
        undo_copy_region_(DynamicUndoCopyBytes(kHeapBytes, 0.2)) {
    heap_ =
        *Heap::CreateWithLog(&heap_region_, "test", heap_format::kMinLogBytes);
    store_ = *KaminoStore::Open(
        heap_.get(), *CreateDynamicUndoCopy(heap_.get(), &undo_copy_region_));
    for (uint32_t i = 0; i < kObjects; ++i) ids_.push_back(Make(40));
  }

  ObjectId Make(uint32_t size) {
    auto transaction = store_->Begin(absl::ZeroDuration());
    const ObjectId id = *transaction->Alloc(size);
    EXPECT_TRUE(transaction->Commit().ok());
    return id;
  }
  absl::Status Change(ObjectId id, uint64_t sequence) {
    auto transaction = store_->Begin(absl::ZeroDuration());
    auto bytes = transaction->Write(id, 0, 8);
    if (!bytes.ok()) return bytes.status();
    std::memset(*bytes, static_cast<int>(sequence % 256), 8);
    CommitOptions options;
    options.sequence = sequence;
    return transaction->Commit(options);
  }
  // The last sequence after a crash now that keeps only durable bytes.
  absl::StatusOr<uint64_t> RecoverDurable() {
    SimRegion heap_region(SimRegion::Image(
        heap_region_.durable(), heap_region_.durable() + heap_region_.size()));
    SimRegion undo_copy_region(SimRegion::Image(
        undo_copy_region_.durable(),
        undo_copy_region_.durable() + undo_copy_region_.size()));
    auto heap = Heap::Open(&heap_region);
    if (!heap.ok()) return heap.status();
    auto undo_copy = OpenDynamicUndoCopy(heap->get(), &undo_copy_region);
    if (!undo_copy.ok()) return undo_copy.status();
    auto store = KaminoStore::Open(heap->get(), std::move(*undo_copy));
    if (!store.ok()) return store.status();
    return (*store)->last_sequence();
  }

  SimRegion heap_region_;
  SimRegion undo_copy_region_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<KaminoStore> store_;
  std::vector<ObjectId> ids_;
};

// The log forgets records as it wraps.
TEST_F(TinyLogTest, LastSequenceNeverGoesBackwards) {
  uint64_t acknowledged = 0;
  int crashes = 0;
  heap_region_.SetDrainHook([&] {
    const auto recovered = RecoverDurable();
    ASSERT_TRUE(recovered.ok()) << recovered.status();
    ASSERT_GE(*recovered, acknowledged);
    ASSERT_LE(*recovered, acknowledged + 1);
    ++crashes;
  });
  for (uint64_t sequence = 1; sequence <= 600; ++sequence) {
    ASSERT_TRUE(Change(ids_[sequence % kObjects], sequence).ok());
    if (HasFatalFailure()) return;
    acknowledged = sequence;
    if (sequence % 3 != 0) store_->Quiesce();
  }
  heap_region_.SetDrainHook(nullptr);
  EXPECT_GT(crashes, 600);
}

}  // namespace
}  // namespace kamino::engine
