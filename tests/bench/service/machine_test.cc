#include "bench/service/machine.h"

#include <string>

#include "gtest/gtest.h"

namespace kamino::bench::service {
namespace {

constexpr pid_t kNoProcess = (1 << 22) + 1;  // Linux has none beyond 1 << 22

TEST(SystemTicksTest, TicksComeFromTheFirstLine) {
  const auto before =
      ParseSystemTicks("cpu  100 0 50 800 20 0 10 20 7 0\ncpu0 1 2 3\n");
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->all, 1000u);
  EXPECT_EQ(before->idle, 820u);
  EXPECT_EQ(before->steal, 20u);
  const auto after = ParseSystemTicks("cpu 150 0 50 830 20 0 10 40 7 0");
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_DOUBLE_EQ(StealFraction(*before, *after), 0.2);
  EXPECT_DOUBLE_EQ(IdleFraction(*before, *after), 0.3);
  EXPECT_EQ(StealFraction(*before, *before), 0);
}

TEST(SystemTicksTest, MalformedTextIsAnError) {
  for (const char* text : {"", "cpu", "cpu 1 2 3 4 5 6 7",
                           "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7 x"}) {
    EXPECT_FALSE(ParseSystemTicks(text).ok()) << text;
  }
}

TEST(UsageTest, IsReadFromThisMachine) {
  const auto before = ReadUsage({{"self", 0}});
  ASSERT_TRUE(before.ok()) << before.status();
  ASSERT_EQ(before->processor_time.size(), 2u);
  EXPECT_GT(before->processor_time[0], absl::ZeroDuration());
  const auto after = ReadUsage({{"self", 0}});
  ASSERT_TRUE(after.ok());
  EXPECT_GE(after->processor_time[1], before->processor_time[1]);
  EXPECT_GE(after->system.all, before->system.all);
  EXPECT_FALSE(ReadUsage({{"gone", kNoProcess}}).ok());
}

}  // namespace
}  // namespace kamino::bench::service
