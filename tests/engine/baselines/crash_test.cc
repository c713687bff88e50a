// The baselines that are atomic, on kamino's heap, under crashes. (libpmemobj
// has its own tests.)
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "engine/baselines/heap_store.h"
#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "tests/engine/random_crashes.h"

namespace kamino::engine {
namespace {

class BaselineSubject final : public CrashSubject {
 public:
  explicit BaselineSubject(HeapScheme scheme)
      : scheme_(scheme), region_(Heap::kMinBytes) {
    heap_ = *Heap::Create(&region_, HeapSchemeName(scheme));
    store_ = *HeapStore::Open(scheme, heap_.get());
  }
  // Opens the image of a crash, for recovery.
  BaselineSubject(HeapScheme scheme, const SimRegion::Image& image)
      : scheme_(scheme), region_(image) {}

  std::vector<SimRegion*> regions() override { return {&region_}; }
  std::unique_ptr<CrashSubject> After(
      const std::vector<SimRegion::Image>& images) const override {
    return std::make_unique<BaselineSubject>(scheme_, images[0]);
  }
  absl::Status Recover() override {
    ASSIGN_OR_RETURN(heap_, Heap::Open(&region_));
    ASSIGN_OR_RETURN(store_, HeapStore::Open(scheme_, heap_.get()));
    return absl::OkStatus();
  }

  Heap& heap() override { return *heap_; }
  std::unique_ptr<Transaction> Begin() override {
    return store_->Begin(absl::ZeroDuration());
  }
  SimRegion& region() { return region_; }

 private:
  const HeapScheme scheme_;
  SimRegion region_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<HeapStore> store_;
};

class CrashTest : public ::testing::TestWithParam<HeapScheme> {};

TEST_P(CrashTest, RandomTransactionsSurviveRandomCrashes) {
  CrashCounts counts;
  CrashLoad load;
  load.steps = 400;
  load.crash_percent = 15;
  load.objects = 12;
  // More than a slot of the log holds here, so that logs grow into the heap.
  load.large = 150 << 10;
  for (load.seed = 1; load.seed <= 6; ++load.seed) {
    BaselineSubject subject(GetParam());
    counts += RunRandomCrashes(&subject, load);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << load.seed;
  }
  // The workload is big enough.
  EXPECT_GT(counts.crashes, 100);
  EXPECT_GT(counts.in_commit, 50);
  EXPECT_GT(counts.commits, 100);
}

// All of it or none, wherever a crash cuts it: a new object, and a write that
// names it.
TEST_P(CrashTest, ATransactionIsAtomicAtEveryDrain) {
  BaselineSubject under(GetParam());
  const ObjectId root = under.heap().root();
  const std::string text(1000, 't');
  int whole = 0;
  int none = 0;
  const auto check = [&](uint64_t seed) {
    BaselineSubject after(GetParam(), under.region().CrashImage(seed));
    ASSERT_TRUE(after.Recover().ok());
    ObjectId named;
    std::memcpy(&named, after.heap().Payload(root)->data(), sizeof(named));
    ASSERT_EQ(after.heap().stats().objects, named == kNullObject ? 1u : 2u);
    ++(named == kNullObject ? none : whole);
    if (named == kNullObject) return;
    const auto payload = after.heap().Payload(named);
    ASSERT_TRUE(payload.ok());
    ASSERT_EQ(std::memcmp(payload->data(), text.data(), text.size()), 0);
  };
  auto transaction = under.Begin();
  under.region().SetDrainHook([&] {
    for (uint64_t seed = 1; seed <= 20; ++seed) check(seed);
  });
  const ObjectId made = *transaction->Alloc(text.size());
  std::memcpy(*transaction->Write(made, 0, text.size()), text.data(),
              text.size());
  std::memcpy(*transaction->Write(root, 0, sizeof(made)), &made, sizeof(made));
  ASSERT_TRUE(transaction->Commit().ok());
  under.region().SetDrainHook(nullptr);
  EXPECT_GT(none, 5);
  EXPECT_GT(whole, 5);
}

TEST_P(CrashTest, TheOtherSchemesHeapIsRefused) {
  BaselineSubject under(GetParam());
  const HeapScheme other = GetParam() == HeapScheme::kUndo
                               ? HeapScheme::kCopyOnWrite
                               : HeapScheme::kUndo;
  EXPECT_TRUE(absl::IsFailedPrecondition(
      HeapStore::Open(other, &under.heap()).status()));
}

INSTANTIATE_TEST_SUITE_P(Schemes, CrashTest,
                         ::testing::Values(HeapScheme::kUndo,
                                           HeapScheme::kCopyOnWrite,
                                           HeapScheme::kUndoEach),
                         [](const ::testing::TestParamInfo<HeapScheme>& info) {
                           switch (info.param) {
                             case HeapScheme::kUndo:
                               return "UndoOwn";
                             case HeapScheme::kUndoEach:
                               return "UndoEach";
                             default:
                               return "CopyOnWrite";
                           }
                         });

}  // namespace
}  // namespace kamino::engine
