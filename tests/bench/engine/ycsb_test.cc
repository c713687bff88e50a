#include "bench/engine/ycsb.h"

#include <array>
#include <set>
#include <thread>
#include <vector>

#include "bench/engine/measure.h"
#include "gtest/gtest.h"
#include "tests/bench/engine/fixture.h"

namespace kamino::bench {
namespace {

TEST(YcsbMixTest, ProportionsMatchTheStandard) {
  constexpr int kDraws = 200'000;
  const std::vector<std::pair<char, std::array<double, kYcsbKinds>>> standard =
      {{'a', {0.5, 0.5, 0, 0, 0}},   {'b', {0.95, 0.05, 0, 0, 0}},
       {'c', {1, 0, 0, 0, 0}},       {'d', {0.95, 0, 0.05, 0, 0}},
       {'e', {0, 0, 0.05, 0.95, 0}}, {'f', {0.5, 0, 0, 0, 0.5}}};
  for (const auto& [workload, proportions] : standard) {
    Random random(workload);
    std::array<int, kYcsbKinds> counts{};
    for (int i = 0; i < kDraws; ++i) {
      ++counts[DrawKind(MixOf(workload), random)];
    }
    for (int kind = 0; kind < kYcsbKinds; ++kind) {
      EXPECT_NEAR(counts[kind], proportions[kind] * kDraws, kDraws / 200)
          << workload << kind;
    }
  }
}

TEST(YcsbKeyTest, KeysDifferAndAreNotInOrder) {
  std::set<std::string> keys;
  bool in_order = true;
  for (uint64_t i = 0; i < 100'000; ++i) {
    const std::string key = YcsbKey(i);
    if (!keys.empty() && key < *keys.rbegin()) in_order = false;
    keys.insert(key);
  }
  EXPECT_EQ(keys.size(), 100'000u);
  EXPECT_FALSE(in_order);
  EXPECT_EQ(YcsbKey(0).substr(0, 4), "user");
}

TEST(RecordCountTest, AGapHidesLaterRecords) {
  RecordCount count(10);
  const uint64_t a = count.Take(), b = count.Take(), c = count.Take();
  EXPECT_EQ(a, 10u);
  count.Commit(c);
  count.Commit(b);
  EXPECT_EQ(count.visible(), 10u);
  count.Commit(a);
  EXPECT_EQ(count.visible(), 13u);
  EXPECT_EQ(count.taken(), 13u);
  count.Reset(10);
  count.Commit(count.Take());
  EXPECT_EQ(count.visible(), 11u);
}

TEST(RecordCountTest, ConcurrentCommitsLeaveNoGap) {
  RecordCount count(0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&count] {
      for (int k = 0; k < 50'000; ++k) count.Commit(count.Take());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count.visible(), 200'000u);
}

class YcsbSuiteTest : public ::testing::TestWithParam<StoreSpec> {};

TEST_P(YcsbSuiteTest, EveryCellRunsAndGrowthIsUndone) {
  const auto suite = MakeYcsbSuite(Scale::kCount);
  OpenedStore opened = OpenForTest(GetParam(), suite->Bytes());
  const auto dataset = suite->MakeDataset(opened.store.get());
  const absl::Status loaded = dataset->Load();
  ASSERT_TRUE(loaded.ok()) << loaded;
  opened.store->Quiesce();
  const uint64_t before = opened.store->bytes_used();
  for (const Cell& cell : suite->Cells()) {
    if (cell.rolls_back && !GetParam().atomic()) continue;
    auto slice = RunSlice(*opened.store, *dataset, cell, kYcsbKinds, 1,
                          {absl::Minutes(1), 100});
    ASSERT_TRUE(slice.ok()) << cell.Name() << ": " << slice.status();
    EXPECT_EQ(slice->transactions, 100u * cell.threads);
  }
  EXPECT_LT(opened.store->bytes_used(), before + before / 20);
}

INSTANTIATE_TEST_SUITE_P(Schemes, YcsbSuiteTest,
                         ::testing::ValuesIn(AllStores()), SchemeName);

}  // namespace
}  // namespace kamino::bench
