#include "engine/pmem/file_region.h"

#include <signal.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

using ::testing::HasSubstr;

constexpr size_t kBytes = 1 << 20;

std::string NewPath(const char* name) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
  std::filesystem::remove(path);
  return path;
}

class FileRegionTest : public ::testing::TestWithParam<PmemMode> {};

TEST_P(FileRegionTest, KeepsWhatWasPersisted) {
  const std::string path = NewPath("kept");
  {
    auto region = FileRegion::Create(path, kBytes, GetParam());
    ASSERT_TRUE(region.ok()) << region.status();
    EXPECT_EQ((*region)->size(), kBytes);
    EXPECT_EQ((*region)->base()[kBytes - 1], std::byte{0});
    std::memcpy((*region)->base() + 5000, "hello", 5);
    (*region)->Persist((*region)->base() + 5000, 5);
    (*region)->CopyFlush((*region)->base() + 9000, "again", 5);
    (*region)->Drain();
  }
  auto region = FileRegion::Open(path, GetParam());
  ASSERT_TRUE(region.ok()) << region.status();
  EXPECT_EQ((*region)->size(), kBytes);
  EXPECT_EQ(std::memcmp((*region)->base() + 5000, "hello", 5), 0);
  EXPECT_EQ(std::memcmp((*region)->base() + 9000, "again", 5), 0);
}

INSTANTIATE_TEST_SUITE_P(Modes, FileRegionTest,
                         ::testing::Values(PmemMode::kAuto, PmemMode::kForce));

TEST(FileRegionTest, ForceNeverCallsMsync) {
  auto region = FileRegion::Create(NewPath("force"), kBytes, PmemMode::kForce);
  ASSERT_TRUE(region.ok());
  EXPECT_NE((*region)->flush_kind(), FlushKind::kPage);
}

TEST(FileRegionTest, OneProcessAtATime) {
  const std::string path = NewPath("locked");
  auto region = FileRegion::Create(path, kBytes, PmemMode::kAuto);
  ASSERT_TRUE(region.ok());
  auto again = FileRegion::Open(path, PmemMode::kAuto);
  EXPECT_TRUE(absl::IsFailedPrecondition(again.status()));
  EXPECT_THAT(std::string(again.status().message()),
              HasSubstr("in use by another process"));
  region->reset();
  EXPECT_TRUE(FileRegion::Open(path, PmemMode::kAuto).ok());
}

TEST(FileRegionTest, ErrorsNameThePath) {
  const std::string path = NewPath("there");
  ASSERT_TRUE(FileRegion::Create(path, kBytes, PmemMode::kAuto).ok());
  auto twice = FileRegion::Create(path, kBytes, PmemMode::kAuto);
  EXPECT_TRUE(absl::IsAlreadyExists(twice.status()));
  EXPECT_THAT(std::string(twice.status().message()), HasSubstr(path));
  EXPECT_TRUE(absl::IsNotFound(
      FileRegion::Open(NewPath("absent"), PmemMode::kAuto).status()));
  const std::string empty = NewPath("empty");
  std::ofstream(empty).flush();
  EXPECT_TRUE(absl::IsFailedPrecondition(
      FileRegion::Open(empty, PmemMode::kAuto).status()));
}

TEST(FileRegionTest, NoSpaceIsAnErrorAndLeavesNothing) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit small = old;
  small.rlim_cur = kBytes / 2;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string path = NewPath("large");
  auto region = FileRegion::Create(path, kBytes, PmemMode::kAuto);
  EXPECT_TRUE(absl::IsResourceExhausted(region.status())) << region.status();
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
}

}  // namespace
}  // namespace kamino::engine
