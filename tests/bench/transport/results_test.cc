#include "bench/transport/results.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::bench {
namespace {

using ::testing::HasSubstr;

Row Make(const std::string& subject, std::vector<double> round_trips,
         std::vector<double> rates) {
  Row row;
  row.subject = subject;
  row.bytes = 64;
  row.round_trip_p50 = row.round_trip_p99 = round_trips;
  row.one_way_p50 = row.one_way_p99 = round_trips;
  row.messages_per_s = rates;
  return row;
}

std::vector<Row> Rows() {
  return {Make("bare-epoll", {10000, 20000, 10000}, {}),
          Make("tcp", {12000, 22000, 15000}, {5e5, 6e5, 7e5}),
          Make("shm", {1400, 1600, 1450}, {2e6, 3.5e6, 4e6})};
}

TEST(ResultsTest, ARatioIsTheMedianOfRoundRatios) {
  const std::vector<Row> rows = Rows();
  EXPECT_DOUBLE_EQ(*RatioTo(rows[1], "bare-epoll", rows), 1.2);
  EXPECT_FALSE(RatioTo(rows[1], "verbs", rows).has_value());
}

TEST(ResultsTest, TargetsAreMetOrMissed) {
  const std::vector<Target> targets =
      Targets(Rows(), {{"shm", 0.5}, {"tcp", 0.0001}});
  ASSERT_EQ(targets.size(), 5u);
  EXPECT_TRUE(targets[0].met()) << targets[0].what;   // tcp over bare epoll
  EXPECT_TRUE(targets[1].met()) << targets[1].what;   // shm round trip
  EXPECT_TRUE(targets[2].met()) << targets[2].what;   // shm rate
  EXPECT_FALSE(targets[3].met()) << targets[3].what;  // half a processor
  EXPECT_TRUE(targets[4].met()) << targets[4].what;
  std::vector<Row> slow = Rows();
  slow[1].round_trip_p50 = {14000, 28000, 14000};
  slow[2].round_trip_p50 = {1600, 1600, 1600};
  slow[2].messages_per_s = {2.9e6, 2.9e6, 2.9e6};
  for (const Target& target : Targets(slow, {})) {
    EXPECT_FALSE(target.met()) << target.what;
  }
}

TEST(ResultsTest, UnmeasuredValuesAreNull) {
  const std::string json = ToJson({{"a", "with \"quotes\""}}, Rows(), {});
  EXPECT_THAT(json, HasSubstr("\"a\": \"with \\\"quotes\\\"\""));
  EXPECT_THAT(json, HasSubstr("\"messages_per_s\": null"));
  EXPECT_THAT(json, HasSubstr("\"messages_per_s\": 3500000.0"));
  EXPECT_THAT(ToTables(Rows(), {}), HasSubstr("at least 3: met"));
}

}  // namespace
}  // namespace kamino::bench
