// Transactions under crashes, with either undo copy.
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"
#include "tests/engine/random_crashes.h"

namespace kamino::engine {
namespace {

class KaminoSubject final : public CrashSubject {
 public:
  explicit KaminoSubject(Scheme scheme) : scheme_(scheme), under_(scheme) {}
  KaminoSubject(Scheme scheme, const std::vector<SimRegion::Image>& images)
      : scheme_(scheme), under_(scheme, images[0], images[1]) {}

  std::vector<SimRegion*> regions() override {
    return {&under_.heap_region(), &under_.undo_copy_region()};
  }
  std::unique_ptr<CrashSubject> After(
      const std::vector<SimRegion::Image>& images) const override {
    return std::make_unique<KaminoSubject>(scheme_, images);
  }
  absl::Status Recover() override { return under_.Recover(); }

  Heap& heap() override { return under_.heap(); }
  std::unique_ptr<Transaction> Begin() override { return under_.Begin(); }

  void Pass(std::mt19937_64& random) override {
    if (random() % 3 == 0) under_.store().PropagateToUndoCopy(random() % 4);
    if (!held_.empty() && random() % 3 == 0) {
      under_.store().ReleaseHold(*held_.begin());
      held_.erase(held_.begin());
    }
  }

  CommitOptions NextCommit(std::mt19937_64& random) override {
    CommitOptions options;
    options.sequence = ++sequence_;
    options.hold_locks = random() % 3 == 0;
    if (options.hold_locks) held_.insert(options.sequence);
    return options;
  }

  uint64_t evictions() { return under_.store().stats().undo_copy.evictions; }

 private:
  const Scheme scheme_;
  StoreUnderTest under_;
  std::set<uint64_t> held_;
  uint64_t sequence_ = 0;
};

class CrashTest : public ::testing::TestWithParam<Scheme> {};

TEST_P(CrashTest, RandomTransactionsSurviveRandomCrashes) {
  CrashCounts counts;
  uint64_t evictions = 0;
  CrashLoad load;
  load.steps = 300;
  load.crash_percent = 12;
  // Few, and some of them large: a dynamic undo copy cannot hold them all.
  load.objects = 14;
  load.large = 500 << 10;
  for (load.seed = 1; load.seed <= 4; ++load.seed) {
    KaminoSubject subject(GetParam());
    counts += RunRandomCrashes(&subject, load);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << load.seed;
    evictions += subject.evictions();
  }
  // The workload is big enough.
  EXPECT_GT(counts.crashes, 50);
  EXPECT_GT(counts.in_commit, 8);
  EXPECT_GT(counts.commits, 100);
  if (!IsSimple(GetParam())) {
    EXPECT_GT(evictions, 20u);
  }
}

TEST_P(CrashTest, LastSequenceIsThatOfTheLastMark) {
  StoreUnderTest under(GetParam());
  const ObjectId id = under.Make("first");
  CommitOptions options;
  options.sequence = 42;
  auto transaction = under.Begin();
  ASSERT_TRUE(transaction->Write(id, 0, 5).ok());
  ASSERT_TRUE(transaction->Commit(options).ok());
  StoreUnderTest after(GetParam(), under.heap_region().CrashImage(1),
                       under.undo_copy_region().CrashImage(1));
  ASSERT_TRUE(after.Recover().ok());
  EXPECT_EQ(after.store().last_sequence(), 42u);
}

INSTANTIATE_TEST_SUITE_P(Schemes, CrashTest, ::testing::ValuesIn(kAllSchemes),
                         SchemeName);

}  // namespace
}  // namespace kamino::engine
