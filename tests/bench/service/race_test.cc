#include "bench/service/race.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "bench/service/results.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/bench/service/stub_subject.h"

namespace kamino::bench::service {
namespace {

constexpr pid_t kNoProcess = (1 << 22) + 1;  // Linux has none beyond 1 << 22

using ::testing::HasSubstr;
using ::testing::Not;

RaceOptions Short() {
  RaceOptions options;
  options.workloads = {"put", "get"};
  options.value_sizes = {64};
  options.outstanding = {1, 4};
  options.loads = {50};
  options.rates = {500};
  options.objects = 100;
  options.rounds = 2;
  options.warm_up = absl::Milliseconds(1);
  options.slice = absl::Milliseconds(15);
  return options;
}

std::vector<Racer> Stubs(StubSubject::Faults faults = {}) {
  std::vector<Racer> racers;
  racers.push_back({std::make_unique<StubSubject>("a"), {{"head", getpid()}}});
  racers.push_back(
      {std::make_unique<StubSubject>("b", faults), {{"master", getpid()}}});
  return racers;
}

bool AllHaveRun(const std::vector<Row>& rows) {
  return absl::c_all_of(rows, [](const Row& row) {
    return row.errors > 0 || absl::c_all_of(row.turns, [](const Turn& turn) {
             return turn.per_second > 0;
           });
  });
}

// Makes slices longer until each has had an operation: in a short one this
// process may not have run at all. Returns how many races that took.
int RunUntilAllHaveRun(const std::vector<Racer>& racers, RaceOptions options,
                       std::vector<Row>* rows) {
  for (int races = 1;; ++races) {
    rows->clear();
    const absl::Status done = RunRace(
        racers, options, [](const std::string&) {}, rows);
    EXPECT_TRUE(done.ok()) << done;
    if (!done.ok() || AllHaveRun(*rows)) return races;
    options.slice *= 2;
    options.endurance *= 2;
  }
}

TEST(RaceTest, EveryCellHasEverySubject) {
  const std::vector<Racer> racers = Stubs();
  RaceOptions options = Short();
  options.endurance = absl::Milliseconds(10);
  std::vector<Row> rows;
  const int races = RunUntilAllHaveRun(racers, options, &rows);
  // Two closed loads and two open ones of two workloads, and a long one.
  ASSERT_EQ(rows.size(), 2u * (2 * 4 + 1));
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    EXPECT_EQ(row.subject, i % 2 == 0 ? "a" : "b");
    EXPECT_EQ(row.errors, 0u) << row.first_error;
    const bool once = row.cell.mode == Mode::kEndurance;
    ASSERT_EQ(row.turns.size(), once ? 1u : 2u);
    for (const Turn& turn : row.turns) {
      EXPECT_GT(turn.per_second, 0);
      EXPECT_GT(turn.p50, 0);
      EXPECT_LE(turn.p50, turn.p99);
      EXPECT_LE(turn.p99, turn.p9999);
      ASSERT_EQ(turn.processor_time.size(), 2u);
      EXPECT_EQ(turn.processor_time[0].role, "driver");
      EXPECT_EQ(turn.processor_time[1].role, i % 2 == 0 ? "head" : "master");
      EXPECT_EQ(turn.others, 0);  // both have the same process
      EXPECT_EQ(turn.offered > 0, row.cell.mode != Mode::kClosed);
    }
  }
  EXPECT_EQ(rows[0].cell.outstanding, 1);
  EXPECT_EQ(rows[2].cell.outstanding, 4);
  EXPECT_EQ(rows[4].cell.load, 50);
  EXPECT_EQ(rows[6].cell.rate, 500);
  EXPECT_EQ(rows[8].cell.mode, Mode::kEndurance);
  EXPECT_EQ(rows[10].cell.workload, "get");
  // After loading, and after each turn.
  EXPECT_EQ(static_cast<StubSubject*>(racers[0].subject.get())->tidied,
            races * (1 + 2 * (2 * 4) + 1));
}

TEST(RaceTest, TransactionsHaveTheirOwnTables) {
  RaceOptions options = Short();
  options.workloads = {"tpcc", "put"};
  options.tpcc = {1, 10, 6};
  options.slice = absl::Milliseconds(30);
  std::vector<Row> rows;
  RunUntilAllHaveRun(Stubs(), options, &rows);
  // Two closed and two open loads, and then the transactions' closed ones.
  ASSERT_EQ(rows.size(), 2u * (4 + 2));
  for (size_t i = 8; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].cell.workload, "tpcc");
    EXPECT_EQ(rows[i].cell.mode, Mode::kClosed);
    EXPECT_EQ(rows[i].errors, 0u) << rows[i].first_error;
    EXPECT_GT(MediansOf(rows[i]).mean, 0);
  }
}

TEST(RaceTest, FailuresAreInTheRowsAndTheResults) {
  StubSubject::Faults faults;
  faults.wrong_values = true;
  RaceOptions options = Short();
  options.workloads = {"get"};
  std::vector<Row> rows;
  ASSERT_TRUE(RunRace(
                  Stubs(faults), options, [](const std::string&) {}, &rows)
                  .ok());
  EXPECT_EQ(rows[0].errors, 0u);
  EXPECT_EQ(rows[1].errors, 2u);  // one caller, two rounds
  EXPECT_GT(ErrorsOf(rows), 2u);
  EXPECT_THAT(ToTables({}, rows, "a"), HasSubstr("2 ERRORS: DATA_LOSS"));
  EXPECT_THAT(ToJson({}, {}, rows),
              HasSubstr("\"errors\": 2, \"first_error\""));
}

TEST(RaceTest, AServerThatExitsEndsTheRace) {
  std::vector<Racer> racers = Stubs();
  racers[1].processes = {{"master", kNoProcess}};
  std::vector<Row> rows;
  const absl::Status done = RunRace(
      racers, Short(), [](const std::string&) {}, &rows);
  EXPECT_TRUE(absl::IsNotFound(done)) << done;
  EXPECT_THAT(std::string(done.message()), HasSubstr("b master"));
}

TEST(RaceTest, AFailedLoadEndsTheRace) {
  StubSubject::Faults faults;
  faults.failing = 50;
  std::vector<Row> rows;
  const absl::Status done = RunRace(
      Stubs(faults), Short(), [](const std::string&) {}, &rows);
  EXPECT_TRUE(absl::IsUnavailable(done)) << done;
  EXPECT_THAT(std::string(done.message()), HasSubstr("b: loading"));
}

TEST(RaceTest, LargeObjectsAreFewer) {
  RaceOptions options;
  EXPECT_EQ(ObjectsOf(options, 1024), 100'000u);
  EXPECT_EQ(ObjectsOf(options, 65536), 4096u);
  EXPECT_EQ(ObjectsOf(options, size_t{1} << 40), 1u);
}

// --- Results.

Turn TurnOf(double per_second, double p50) {
  Turn turn;
  turn.per_second = per_second;
  turn.p50 = p50;
  turn.p99 = turn.p999 = turn.p9999 = turn.most = 10 * p50;
  turn.operations = 100;
  turn.mean = 2 * p50;
  turn.writes_mean = 3 * p50;
  turn.processor_time = {{"driver", 1}, {"head", p50 / 1000}};
  return turn;
}

std::vector<Row> Rows() {
  Cell cell;
  cell.workload = "put";
  cell.value_size = 1024;
  cell.outstanding = 32;
  return {{cell,
           "kamino",
           {TurnOf(100, 3000), TurnOf(300, 1000), TurnOf(200, 2000)},
           0,
           {}},
          {cell,
           "redis",
           {TurnOf(400, 1000), TurnOf(400, 1000), TurnOf(400, 1000)},
           0,
           {}}};
}

TEST(ResultsTest, FiguresAreMediansOverTheRounds) {
  const Medians medians = MediansOf(Rows()[0]);
  EXPECT_EQ(medians.per_second, 200);
  EXPECT_EQ(medians.p50, 2000);
  EXPECT_EQ(medians.most, 20'000);
  EXPECT_EQ(medians.worst, 30'000);
  EXPECT_EQ(medians.spread, 1);
  EXPECT_EQ(medians.operations, 300u);
  ASSERT_EQ(medians.processor_time.size(), 2u);
  EXPECT_EQ(medians.processor_time[1].role, "head");
  EXPECT_EQ(medians.processor_time[1].micros, 2);
  EXPECT_EQ(MediansOf(Row()).per_second, 0);
}

TEST(ResultsTest, RatiosUseMedians) {
  std::vector<Row> rows = Rows();
  const auto ratios = RatiosTo(rows[0], "redis", rows);
  ASSERT_TRUE(ratios.has_value());
  EXPECT_EQ(ratios->per_second, 0.5);
  EXPECT_EQ(ratios->p50, 2);
  EXPECT_EQ(ratios->p99, 2);
  EXPECT_FALSE(RatiosTo(rows[0], "etcd", rows).has_value());
  rows[1].cell.outstanding = 1;
  EXPECT_FALSE(RatiosTo(rows[0], "redis", rows).has_value());
}

TEST(ResultsTest, WritesJsonAndTables) {
  SubjectSpec spec;
  spec.name = "redis";
  spec.about = "in \"memory\"";
  const std::string json = ToJson({{"fact", "one"}}, {spec}, Rows());
  for (const char* expected :
       {"\"fact\": \"one\"", "\"about\": \"in \\\"memory\\\"\"",
        "\"ops_per_s\": 200,", "\"p50_us\": 2,", "\"mean_us\": 4,",
        "\"writes_mean_us\": 6,", "\"outstanding\": 32",
        "\"load_percent\": null", "{\"driver\": 1, \"head\": 2}",
        "\"redis\": {\"ops_per_s\": 0.5, \"p50\": 2, \"p99\": 2}",
        "\"rounds\": [100, 300, 200]"}) {
    EXPECT_THAT(json, HasSubstr(expected));
  }
  const std::string tables = ToTables({spec}, Rows(), "redis");
  EXPECT_THAT(tables, HasSubstr("in \"memory\""));
  EXPECT_THAT(tables, Not(HasSubstr("ERRORS")));
}

}  // namespace
}  // namespace kamino::bench::service
