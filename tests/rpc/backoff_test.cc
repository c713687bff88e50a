#include "rpc/backoff.h"

#include "gtest/gtest.h"

namespace kamino::rpc {
namespace {

constexpr Backoff kBackoff = {absl::Milliseconds(10), absl::Milliseconds(100)};

TEST(BackoffTest, DoublesUpToTheMaximum) {
  const double all = 1;  // just out of the range
  EXPECT_EQ(kBackoff.After(1, all), absl::Milliseconds(10));
  EXPECT_EQ(kBackoff.After(2, all), absl::Milliseconds(20));
  EXPECT_EQ(kBackoff.After(4, all), absl::Milliseconds(80));
  for (const int failures : {5, 6, 100, 1 << 30}) {
    EXPECT_EQ(kBackoff.After(failures, all), absl::Milliseconds(100));
  }
}

TEST(BackoffTest, SpreadsOverTheUpperHalf) {
  EXPECT_EQ(kBackoff.After(1, 0), absl::Milliseconds(5));
  EXPECT_EQ(kBackoff.After(1, 0.5), absl::Milliseconds(7.5));
  EXPECT_EQ(kBackoff.After(9, 0), absl::Milliseconds(50));
}

}  // namespace
}  // namespace kamino::rpc
