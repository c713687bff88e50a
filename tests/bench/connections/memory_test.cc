#include "bench/connections/memory.h"

#include <unistd.h>

#include <limits>
#include <string>

#include "gtest/gtest.h"

namespace kamino::bench::connections {
namespace {

constexpr char kStatus[] =
    "Name:\tkamino_node\nVmRSS:\t    3584 kB\nRssAnon:\t     456 kB\n"
    "RssFile:\t    3128 kB\nRssShmem:\t      12 kB\nThreads:\t1\n";
constexpr char kLimits[] =
    "Limit                     Soft Limit           Hard Limit     Units\n"
    "Max processes             95000                95000          processes\n"
    "Max open files            1024                 20000          files\n";

TEST(MemoryTest, OwnAndSharedMemoryAreParsed) {
  const auto memory = ParseMemory(kStatus);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->own, 456 << 10);
  EXPECT_EQ(memory->shared, 12 << 10);
}

TEST(MemoryTest, MalformedTextIsAnError) {
  for (const char* text : {"", "RssAnon:\t1 kB\n", "RssShmem:\t1 kB\n",
                           "RssAnon:\tx kB\nRssShmem:\t1 kB\n",
                           "RssAnon:\t1 MB\nRssShmem:\t1 kB\n"}) {
    EXPECT_FALSE(ParseMemory(text).ok()) << text;
  }
  EXPECT_FALSE(ParseKernelMemory("MemTotal: 5 kB\n").ok());
}

TEST(MemoryTest, ReadsThisProcessAndRefusesAMissingOne) {
  const auto own = ReadMemory(::getpid());
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_GT(own->own, 0);
  EXPECT_FALSE(ReadMemory((1 << 22) + 1).ok());
  const auto kernel = ReadKernelMemory();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_GT(*kernel, 0);
}

TEST(DescriptorsTest, TheSoftLimitApplies) {
  const auto limit = ParseDescriptors(kLimits);
  ASSERT_TRUE(limit.ok()) << limit.status();
  EXPECT_EQ(*limit, 1024);
  EXPECT_EQ(*ParseDescriptors("Max open files unlimited unlimited files"),
            std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(ParseDescriptors("Max open files").ok());
  EXPECT_FALSE(ParseDescriptors("Max open files x 1 files").ok());
}

TEST(DescriptorsTest, TooFewDescriptorsAreReported) {
  EXPECT_TRUE(CheckDescriptors(0, "this process", 16).ok());
  const absl::Status few = CheckDescriptors(0, "this process", 1LL << 40);
  EXPECT_EQ(few.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(few.message().find("ulimit -Hn"), std::string::npos) << few;
}

}  // namespace
}  // namespace kamino::bench::connections
