#include "engine/pmem/file_region.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/pmem/page_sync.h"
#include "engine/pmem/region_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/fault.h"

namespace kamino::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kBytes = 1 << 20;

std::string NewPath(const char* name) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
  std::filesystem::remove(path);
  return path;
}

class FileRegionTest : public ::testing::TestWithParam<PmemMode> {};

TEST_P(FileRegionTest, KeepsPersistedBytes) {
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

TEST(FileRegionTest, PopulatedPagesAreResident) {
  auto region = FileRegion::Create(NewPath("full"), kBytes, PmemMode::kForce);
  ASSERT_TRUE(region.ok());
  (*region)->Populate();
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> there((*region)->size() / page);
  ASSERT_EQ(mincore((*region)->base(), there.size() * page, there.data()), 0);
  EXPECT_EQ(std::count_if(there.begin(), there.end(),
                          [](unsigned char state) { return state & 1; }),
            static_cast<ptrdiff_t>(there.size()));
}

TEST(FileRegionTest, AFileIsOpenedOnlyOnceAtATime) {
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

// cp --sparse makes holes of a heap's zeros: later, on a full disk, a store to
// a hole would end the process.
bool HolesAreFilled() {
  const std::string path = NewPath("sparse");
  std::ofstream(path).flush();
  std::filesystem::resize_file(path, kBytes);
  struct stat info;
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_LT(static_cast<size_t>(info.st_blocks) * 512, kBytes);
  EXPECT_TRUE(FileRegion::Open(path, PmemMode::kForce).ok());
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  return static_cast<size_t>(info.st_blocks) * 512 >= kBytes;
}

TEST(FileRegionTest, OpeningAFileFillsItsHoles) {
  EXPECT_TRUE(HolesAreFilled());
  faults::PlantFault("region-keeps-holes");
  EXPECT_FALSE(HolesAreFilled());
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

TEST(FileRegionTest, RefusesASizeOfZero) {
  const std::string path = NewPath("nothing");
  auto region = FileRegion::Create(path, 0, PmemMode::kAuto);
  EXPECT_TRUE(absl::IsFailedPrecondition(region.status())) << region.status();
  EXPECT_THAT(std::string(region.status().message()), HasSubstr(path));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(FileRegionTest, RefusesASizeNoFileSystemHas) {
  const std::string path = NewPath("endless");
  auto region = FileRegion::Create(path, size_t{1} << 62, PmemMode::kAuto);
  EXPECT_TRUE(absl::IsResourceExhausted(region.status())) << region.status();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(FileRegionTest, RefusesAFolder) {
  const std::string path = NewPath("folder");
  ASSERT_TRUE(std::filesystem::create_directory(path));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      FileRegion::Open(path, PmemMode::kAuto).status()));
}

TEST(FileRegionTest, RefusesADeviceThatIsNoMemory) {
  auto region = FileRegion::Open("/dev/null", PmemMode::kForce);
  EXPECT_TRUE(absl::IsFailedPrecondition(region.status())) << region.status();
  EXPECT_THAT(std::string(region.status().message()),
              AllOf(HasSubstr("/dev/null"), HasSubstr("devdax")));
}

TEST(FileRegionTest, RenameReplacesAnExistingFile) {
  const std::string from = NewPath("from");
  const std::string to = NewPath("to");
  ASSERT_TRUE(FileRegion::Create(from, kBytes, PmemMode::kForce).ok());
  ASSERT_TRUE(FileRegion::Create(to, 2 * kBytes, PmemMode::kForce).ok());
  ASSERT_TRUE(FileRegion::Rename(from, to).ok());
  EXPECT_FALSE(std::filesystem::exists(from));
  EXPECT_EQ((*FileRegion::Open(to, PmemMode::kForce))->size(), kBytes);
  const absl::Status absent = FileRegion::Rename(from, to);
  EXPECT_TRUE(absl::IsNotFound(absent)) << absent;
  EXPECT_THAT(std::string(absent.message()), HasSubstr(from));
}

// By syncs, where the folder for tests is not on persistent memory.
TEST(FileRegionTest, WritesAnyRangeBack) {
  const std::string path = NewPath("paged");
  auto region = FileRegion::Create(path, kBytes, PmemMode::kAuto);
  ASSERT_TRUE(region.ok()) << region.status();
  std::byte* base = (*region)->base();
  const std::pair<size_t, size_t> ranges[] = {
      {0, 1}, {4095, 2}, {100, 3 * 4096}, {kBytes - 1, 1}, {64, 0}};
  for (const auto& [offset, length] : ranges) {
    std::memset(base + offset, 0x5a, length);
    (*region)->Persist(base + offset, length);
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kBytes, '\0');
  ASSERT_TRUE(file.read(bytes.data(), kBytes));
  EXPECT_EQ(std::memcmp(bytes.data(), base, kBytes), 0);
}

// The calls that the library makes from here on.
int fdatasyncs = 0;
int msyncs = 0;
bool disk_fails = false;

bool SyncsPages(const FileRegion& region) {
  if (region.flush_kind() == FlushKind::kPage) return true;
  std::printf("\nNOT RUN: the folder for tests is on persistent memory\n");
  return false;
}

TEST(FileRegionTest, ADrainIsOneSyncForAllFlushes) {
  auto region = FileRegion::Create(NewPath("synced"), kBytes, PmemMode::kAuto);
  auto other = FileRegion::Create(NewPath("other"), kBytes, PmemMode::kAuto);
  ASSERT_TRUE(region.ok() && other.ok());
  if (!SyncsPages(**region)) GTEST_SKIP();
  fdatasyncs = msyncs = 0;
  std::byte* base = (*region)->base();
  for (size_t i = 0; i < 20; ++i) {
    base[i * 10000] = std::byte{1};
    (*region)->Flush(base + i * 10000, 1);
  }
  (*region)->CopyFlush(base + 70000, "again", 5);
  EXPECT_EQ(fdatasyncs, 0);
  (*other)->Drain();  // has nothing to sync, and is another file
  EXPECT_EQ(fdatasyncs, 0);
  (*region)->Drain();
  (*region)->Drain();
  EXPECT_EQ(fdatasyncs, 1);
  EXPECT_EQ((*region)->syncs(), 1u);
  EXPECT_EQ((*other)->syncs(), 0u);
  EXPECT_EQ(msyncs, 0);
}

// A RegionWriter calls no function of the region where it has direct stores.
TEST(FileRegionTest, AWriterMakesStoresDurableAsTheRegionDoes) {
  for (const PmemMode mode : {PmemMode::kAuto, PmemMode::kForce}) {
    auto region = FileRegion::Create(NewPath("written"), kBytes, mode);
    ASSERT_TRUE(region.ok()) << region.status();
    const FlushKind kind = (*region)->flush_kind();
    EXPECT_EQ((*region)->direct() != nullptr, kind == FlushKind::kCacheLine);
    const RegionWriter writer(region->get());
    std::byte* const base = (*region)->base();
    std::string bytes(300, '\0');
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<char>(i % 100 + 1);
    }
    fdatasyncs = 0;
    writer.CopyFlush(base + 4001, bytes.data(), bytes.size());
    std::memcpy(base + 9001, bytes.data(), bytes.size());
    writer.Flush(base + 9001, bytes.size());
    writer.Flush(base, 0);
    EXPECT_EQ(fdatasyncs, 0);
    writer.Drain();
    EXPECT_EQ(fdatasyncs, kind == FlushKind::kPage ? 1 : 0);
    for (const size_t at : {size_t{4001}, size_t{9001}}) {
      EXPECT_EQ(base[at - 1], std::byte{0});
      EXPECT_EQ(std::memcmp(base + at, bytes.data(), bytes.size()), 0);
      EXPECT_EQ(base[at + bytes.size()], std::byte{0});
    }
  }
}

// However much is stored at once.
TEST(FileRegionTest, LargeWritesAreSyncedInParts) {
  constexpr size_t kMuch = 2 * PageSync::kMostUnsynced + kBytes;
  auto region = FileRegion::Create(NewPath("much"), kMuch, PmemMode::kAuto);
  ASSERT_TRUE(region.ok()) << region.status();
  if (!SyncsPages(**region)) GTEST_SKIP();
  const std::vector<std::byte> bytes(kMuch, std::byte{7});
  (*region)->CopyFlush((*region)->base(), bytes.data(), kMuch);
  EXPECT_EQ((*region)->syncs(), 2u);
  (*region)->Drain();
  EXPECT_EQ((*region)->syncs(), 3u);
  EXPECT_EQ(std::memcmp((*region)->base(), bytes.data(), kMuch), 0);
  (*region)->ZeroFlush((*region)->base() + 1, kMuch - 2);
  EXPECT_EQ((*region)->syncs(), 5u);
  (*region)->Drain();
  EXPECT_EQ((*region)->syncs(), 6u);
  EXPECT_EQ((*region)->base()[0], std::byte{7});
  EXPECT_EQ((*region)->base()[kMuch - 1], std::byte{7});
  EXPECT_EQ(
      std::count((*region)->base(), (*region)->base() + kMuch, std::byte{0}),
      static_cast<ptrdiff_t>(kMuch - 2));
}

TEST(FileRegionDeathTest, AFailedSyncEndsTheProcess) {
  auto region = FileRegion::Create(NewPath("fails"), kBytes, PmemMode::kAuto);
  ASSERT_TRUE(region.ok()) << region.status();
  if (!SyncsPages(**region)) GTEST_SKIP();
  EXPECT_DEATH(
      {
        disk_fails = true;  // once: the kernel reports an error once
        (*region)->Flush((*region)->base(), 1);
        (*region)->Drain();
      },
      "the medium of a heap fails.*Input/output error");
}

TEST(FileRegionTest, NoSpaceIsAnErrorAndLeavesNoFile) {
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

// The library's, counted.
extern "C" int fdatasync(int file) {
  ++kamino::engine::fdatasyncs;
  if (std::exchange(kamino::engine::disk_fails, false)) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fdatasync, file));
}

extern "C" int msync(void* begin, size_t length, int flags) {
  ++kamino::engine::msyncs;
  return static_cast<int>(syscall(SYS_msync, begin, length, flags));
}
