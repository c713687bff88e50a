#include "bench/service/workload.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::bench::service {
namespace {

constexpr uint64_t kObjects = 1000;

std::map<Kind, int> KindsOf(const std::string& name, int draws) {
  Population population(kObjects);
  const Workload workload(*FindMix(name), kObjects, 64, &population);
  Random random(1);
  Step step;
  std::map<Kind, int> kinds;
  for (int i = 0; i < draws; ++i) {
    workload.Next(random, &step);
    ++kinds[step.kind];
    if (step.kind == Kind::kInsert) population.Inserted(step.numbers[0]);
    for (uint64_t number : step.numbers) {
      EXPECT_LT(number, population.acknowledged());
    }
  }
  return kinds;
}

TEST(WorkloadTest, KindsMatchTheMix) {
  for (const Mix& mix : Mixes()) {
    int sum = 0;
    for (const Mix::Part& part : mix.parts) sum += part.percent;
    EXPECT_EQ(sum, 100) << mix.name;
  }
  EXPECT_EQ(KindsOf("put", 100)[Kind::kPut], 100);
  auto kinds = KindsOf("ycsb-d", 10'000);
  EXPECT_NEAR(kinds[Kind::kInsert], 500, 100);
  EXPECT_EQ(kinds[Kind::kInsert] + kinds[Kind::kGet], 10'000);
  kinds = KindsOf("ycsb-f", 10'000);
  EXPECT_NEAR(kinds[Kind::kReadModifyWrite], 5000, 250);
  EXPECT_EQ(FindMix("ycsb-g"), nullptr);
}

TEST(WorkloadTest, OnlyYcsbEScans) {
  for (const Mix& mix : Mixes()) {
    EXPECT_EQ(mix.scans(), std::string(mix.name) == "ycsb-e") << mix.name;
  }
  Population population(kObjects);
  const Workload workload(*FindMix("ycsb-e"), kObjects, 64, &population);
  Random random(1);
  Step step;
  int scans = 0;
  for (int i = 0; i < 1000; ++i) {
    workload.Next(random, &step);
    if (step.kind != Kind::kScan) continue;
    ++scans;
    EXPECT_GE(step.limit, 1u);
    EXPECT_LE(step.limit, kMostScanned);
  }
  EXPECT_GT(scans, 900);
}

// Kinds of the next `count` operations: 'w' for a put of the first object, 'W'
// for one of another, 'r' for reads.
std::string TurnsOf(const std::string& name, int count) {
  Population population(kObjects);
  const Workload workload(*FindMix(name), kObjects, 64, &population);
  Random random(1);
  Step step;
  std::string turns;
  for (int i = 0; i < count; ++i) {
    workload.Next(random, &step);
    EXPECT_EQ(step.numbers.size(), 1u);
    turns += step.kind == Kind::kGet ? 'r' : step.numbers[0] == 0 ? 'w' : 'W';
  }
  return turns;
}

TEST(WorkloadTest, DependentOperationsComeInTurns) {
  EXPECT_EQ(TurnsOf("tree-spaced", 11), "wrrrrwrrrrw");
  EXPECT_EQ(TurnsOf("tree-bursts", 49),
            "wwwwwwww" + std::string(32, 'r') + "wwwwwwwwr");
  EXPECT_EQ(TurnsOf("tree-spaced-any", 6), "WrrrrW");
  EXPECT_EQ(TurnsOf("tree-bursts-any", 9), "WWWWWWWWr");
}

TEST(WorkloadTest, ATransactionUsesDifferentObjects) {
  for (uint64_t objects : {kObjects, uint64_t{3}}) {
    Population population(objects);
    const Workload workload(*FindMix("tx10"), objects, 64, &population);
    Random random(1);
    Step step;
    for (int i = 0; i < 1000; ++i) {
      workload.Next(random, &step);
      const std::set<uint64_t> different(step.numbers.begin(),
                                         step.numbers.end());
      EXPECT_EQ(step.numbers.size(), std::min<uint64_t>(objects, 10));
      EXPECT_EQ(different.size(), step.numbers.size());
    }
  }
}

TEST(WorkloadTest, SomeObjectsAreMorePopular) {
  Population population(kObjects);
  const Workload workload(*FindMix("get"), kObjects, 64, &population);
  Random random(1);
  Step step;
  std::map<uint64_t, int> counts;
  for (int i = 0; i < 10'000; ++i) {
    workload.Next(random, &step);
    ++counts[step.numbers[0]];
  }
  int most = 0;
  for (const auto& [number, count] : counts) most = std::max(most, count);
  EXPECT_GT(most, 1000);  // the first of 1,000 has 13 %
}

TEST(PopulationTest, CountsInsertionsWithoutGaps) {
  Population population(2);
  EXPECT_EQ(population.Reserve(), 2u);
  EXPECT_EQ(population.Reserve(), 3u);
  EXPECT_EQ(population.Reserve(), 4u);
  population.Inserted(3);
  EXPECT_EQ(population.acknowledged(), 2u);
  population.Inserted(2);
  EXPECT_EQ(population.acknowledged(), 4u);
  population.Inserted(4);
  EXPECT_EQ(population.acknowledged(), 5u);
}

TEST(ValueTest, DependsOnItsObjectAndSize) {
  const std::string value = ValueOf(7, 64);
  EXPECT_EQ(value.size(), 64u);
  EXPECT_TRUE(CheckValue(value, 7, 64).ok());
  EXPECT_FALSE(CheckValue(value, 7, 65).ok());
  EXPECT_FALSE(CheckValue(value, 8, 64).ok());
  EXPECT_FALSE(CheckValue("", 7, 64).ok());
  EXPECT_EQ(KeyOf(7).size(), kLeastValue);
  EXPECT_LT(KeyOf(99), KeyOf(100));
  EXPECT_TRUE(CheckValue(ValueOf(7, kLeastValue), 7, kLeastValue).ok());
}

}  // namespace
}  // namespace kamino::bench::service
