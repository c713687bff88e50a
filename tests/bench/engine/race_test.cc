#include "bench/engine/race.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "bench/engine/micro.h"
#include "bench/engine/results.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const StoreSpec kSimple = {"kamino-simple", {}};
const StoreSpec kDynamic = {"kamino-dynamic", 0.5};

RaceOptions Options() {
  RaceOptions options;
  options.wanted = [](const std::string& name) {
    return name == "micro/overwrite-bytes/hot/1/64" ||
           name == "micro/alloc-link-free/uniform/1/1024";
  };
  options.rounds = 3;
  options.slice = absl::Milliseconds(2);
  options.warm_up = absl::Milliseconds(1);
  return options;
}

TEST(RaceTest, GivesARowForEachCellAndStore) {
  auto folder = PoolFolder::Create(::testing::TempDir());
  ASSERT_TRUE(folder.ok()) << folder.status();
  const auto suite = MakeMicroSuite(Scale::kCount);
  std::vector<Row> rows;
  const auto silent = [](const std::string&) {};
  absl::Status done =
      RunTimed(*suite, {kSimple, kDynamic}, **folder, Options(), silent, &rows);
  ASSERT_TRUE(done.ok()) << done;
  done = RunCounted(*suite, {kSimple, kDynamic}, **folder, Options(), silent,
                    &rows);
  ASSERT_TRUE(done.ok()) << done;
  ASSERT_EQ(rows.size(), 5u);
  int floors = 0;
  for (const Row& row : rows) {
    EXPECT_EQ(row.rounds.size(), 3u);
    EXPECT_GT(Throughput(row), 0);
    EXPECT_GT(row.p50_ns, 0);
    EXPECT_GE(row.p99_ns, row.p50_ns);
    if (row.store.scheme == "floor") {
      EXPECT_EQ(row.cell.workload, "overwrite-bytes");
      ++floors;
      continue;
    }
    EXPECT_GT(row.bytes_storage, 0u);
    ASSERT_TRUE(row.fences_per_tx.has_value());
    EXPECT_GT(*row.fences_per_tx, 0);
    // The least that has to be written.
    EXPECT_GE(*row.lines_per_tx, row.cell.value_size / 64);
  }
  EXPECT_EQ(floors, 1);
}

// A slowed drain allows no more than kMost commits a second. Others allow some
// hundred times as many, which leaves room for any machine.
TEST(RaceTest, DelaysTakeTurns) {
  constexpr uint64_t kLong = 5'000'000;
  constexpr double kMost = 1e9 / kLong;
  auto folder = PoolFolder::Create(::testing::TempDir());
  ASSERT_TRUE(folder.ok()) << folder.status();
  RaceOptions options = Options();
  options.wanted = [](const std::string& name) {
    return name == "micro/overwrite-bytes/hot/1/64";
  };
  // The measurement after a long delay no longer has that delay.
  options.drains_ns = {0, kLong, 1};
  std::vector<StoreSpec> specs = {kSimple, kDynamic};
  for (StoreSpec& spec : specs) spec.drains_vary = true;
  std::vector<Row> rows;
  const absl::Status done = RunTimed(
      *MakeMicroSuite(Scale::kCount), specs, **folder, options,
      [](const std::string&) {}, &rows);
  ASSERT_TRUE(done.ok()) << done;
  ASSERT_EQ(rows.size(), 6u);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    EXPECT_EQ(row.cell.drain_ns, options.drains_ns[i / 2]);
    EXPECT_EQ(row.rounds.size(), 3u);
    // A second's.
    const double most = *std::max_element(row.rounds.begin(), row.rounds.end());
    if (row.cell.drain_ns > 1) {
      EXPECT_LT(most, kMost);
    } else {
      EXPECT_GT(most, kMost);
    }
  }
}

TEST(PoolFolderTest, IsRemovedAfterwards) {
  std::string path;
  {
    auto folder = PoolFolder::Create(::testing::TempDir());
    ASSERT_TRUE(folder.ok()) << folder.status();
    path = (*folder)->path();
    EXPECT_EQ(access(path.c_str(), F_OK), 0);
    EXPECT_GT((*folder)->FreeBytes(), 0u);
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(PoolFolderTest, NeedsAParent) {
  auto folder = PoolFolder::Create("/nowhere/at/all");
  EXPECT_TRUE(absl::IsFailedPrecondition(folder.status()));
}

Row MakeRow(const char* scheme, std::vector<double> rounds) {
  Row row;
  row.suite = "suite";
  row.store = {scheme, {}};
  row.cell.workload = "work";
  row.cell.distribution = "uniform";
  row.cell.value_size = 64;
  row.rounds = std::move(rounds);
  return row;
}

TEST(ResultsTest, RatiosUseMedians) {
  std::vector<Row> rows = {MakeRow("kamino-simple", {10, 1000, 300}),
                           MakeRow("undo-object", {1, 100, 500})};
  EXPECT_EQ(RatioTo(rows[0], "undo-object", rows), 3.0);
  EXPECT_EQ(RatioTo(rows[0], "kamino-simple", rows), 1.0);
  EXPECT_EQ(RatioTo(rows[0], "cow", rows), std::nullopt);
  const auto range = RatioRange(rows[0], "undo-object", rows);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->first, 300.0 / 500);
  EXPECT_EQ(range->second, 10);
  rows[1].cell.drain_ns = 500;
  EXPECT_EQ(RatioTo(rows[0], "undo-object", rows), std::nullopt);
  EXPECT_EQ(RatioRange(rows[0], "undo-object", rows), std::nullopt);
  rows[1].cell.drain_ns = 0;
  rows[1].cell.threads = 2;
  EXPECT_EQ(RatioTo(rows[0], "undo-object", rows), std::nullopt);
}

TEST(ResultsTest, UnknownValuesAreNull) {
  const std::vector<Row> rows = {MakeRow("undo-object", {100})};
  const std::string json =
      ToJson("engine", {{"fact", "a \"quoted\" one"}}, rows, {});
  EXPECT_THAT(json, HasSubstr("\"fences_per_tx\": null"));
  EXPECT_THAT(json, HasSubstr("\"lines_flushed_per_tx\": null"));
  EXPECT_THAT(json, HasSubstr("\"hit_rate\": null"));
  EXPECT_THAT(json, HasSubstr("\"a \\\"quoted\\\" one\""));
  EXPECT_THAT(json, HasSubstr("\"ops_per_s\": 100.0"));
}

TEST(ResultsTest, TablesHaveAColumnForEachStore) {
  const std::vector<Row> rows = {MakeRow("kamino-simple", {300'000}),
                                 MakeRow("undo-object", {100'000})};
  const std::string tables = ToTables(rows);
  EXPECT_THAT(tables, HasSubstr("kamino-simple"));
  EXPECT_THAT(tables, HasSubstr("300.0 ~0%"));
  EXPECT_THAT(tables, HasSubstr("3.00"));
  EXPECT_THAT(tables, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace kamino::bench
