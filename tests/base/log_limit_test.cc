#include "base/log_limit.h"

#include "gtest/gtest.h"

namespace kamino {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();

TEST(LogLimitTest, LimitsLinesPerSecond) {
  LogLimit limit;
  int told = 0;
  for (int i = 0; i < 10000; ++i) {
    if (limit.Take(kStart + i * absl::Milliseconds(1)).has_value()) ++told;
  }
  EXPECT_EQ(told, 10 * LogLimit::kLinesPerSecond);
}

TEST(LogLimitTest, CountsOmittedLines) {
  LogLimit limit;
  for (int i = 0; i < LogLimit::kLinesPerSecond; ++i) {
    EXPECT_EQ(limit.Take(kStart), "");
  }
  for (int i = 0; i < 7; ++i) EXPECT_EQ(limit.Take(kStart), std::nullopt);
  const absl::Time later = kStart + absl::Seconds(3);
  EXPECT_EQ(limit.Take(later), " (7 lines like this one were left out)");
  EXPECT_EQ(limit.Take(later), "");
}

}  // namespace
}  // namespace kamino
