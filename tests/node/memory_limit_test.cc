#include "node/memory_limit.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node/storage/file_media.h"
#include "node/storage/storage.h"

namespace kamino::node {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kMib = 1u << 20;

// A folder that stands for /.
class MemoryLimitTest : public ::testing::Test {
 protected:
  MemoryLimitTest() { std::filesystem::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = root_ + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // In MiB; 0: none.
  uint64_t Limit() {
    const auto limit = ReadMemoryLimit(need_, root_);
    file_ = limit.has_value() ? limit->file.substr(root_.size()) : "";
    return limit.has_value() ? limit->bytes / kMib : 0;
  }

  const std::string root_ =
      ::testing::TempDir() + "/" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name() + "/";
  std::string file_;
  MemoryNeed need_;
};

TEST_F(MemoryLimitTest, WithoutFilesThereIsNoLimit) {
  EXPECT_EQ(Limit(), 0u);
  Write("proc/self/cgroup", "0::/a\n");
  EXPECT_EQ(Limit(), 0u);
  Write("sys/fs/cgroup/a/memory.max", "max\n");
  EXPECT_EQ(Limit(), 0u);
  Write("sys/fs/cgroup/a/memory.max", "damaged\n");
  EXPECT_EQ(Limit(), 0u);
}

TEST_F(MemoryLimitTest, TheLowestLimitOfAllParentsCounts) {
  Write("proc/self/cgroup", "1:name=systemd:/x\n0::/pods/one/node\n");
  Write("sys/fs/cgroup/pods/one/node/memory.max", "max\n");
  Write("sys/fs/cgroup/pods/one/memory.max", absl::StrCat(300 * kMib, "\n"));
  EXPECT_EQ(Limit(), 300u);
  EXPECT_EQ(file_, "sys/fs/cgroup/pods/one/memory.max");
  Write("sys/fs/cgroup/pods/memory.max", absl::StrCat(200 * kMib, "\n"));
  EXPECT_EQ(Limit(), 200u);
  Write("sys/fs/cgroup/pods/one/node/memory.max",
        absl::StrCat(100 * kMib, "\n"));
  EXPECT_EQ(Limit(), 100u);
}

// A container sees its cgroup as the root, but may see the machine's path.
TEST_F(MemoryLimitTest, AContainersCgroupIsTheRoot) {
  Write("proc/self/cgroup", "0::/system.slice/docker-1.scope\n");
  Write("sys/fs/cgroup/memory.max", absl::StrCat(100 * kMib, "\n"));
  EXPECT_EQ(Limit(), 100u);
}

TEST_F(MemoryLimitTest, ReadsCgroupsOfVersion1) {
  Write("proc/self/cgroup", "4:cpu,memory:/a\n3:cpuset:/\n0::/\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Limit(), 0u);
  Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes",
        absl::StrCat(100 * kMib, "\n"));
  EXPECT_EQ(Limit(), 100u);
}

// Files in memory may be swapped out.
TEST_F(MemoryLimitTest, SwapSpaceCounts) {
  Write("proc/meminfo", "MemTotal: 9 kB\nSwapTotal:       51200 kB\n");
  Write("proc/self/cgroup", "0::/a\n");
  Write("sys/fs/cgroup/a/memory.max", absl::StrCat(100 * kMib, "\n"));
  EXPECT_EQ(Limit(), 150u);
  Write("sys/fs/cgroup/a/memory.swap.max", absl::StrCat(20 * kMib, "\n"));
  EXPECT_EQ(Limit(), 120u);
  Write("sys/fs/cgroup/a/memory.swap.max", "0\n");
  EXPECT_EQ(Limit(), 100u);

  Write("proc/self/cgroup", "1:memory:/a\n");
  Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes",
        absl::StrCat(100 * kMib, "\n"));
  EXPECT_EQ(Limit(), 150u);
  Write("sys/fs/cgroup/memory/a/memory.memsw.limit_in_bytes",
        absl::StrCat(110 * kMib, "\n"));
  EXPECT_EQ(Limit(), 110u);
}

// Files that another cgroup is charged with leave their room in this one.
TEST_F(MemoryLimitTest, TheTightestLimitForTheNeedCounts) {
  Write("proc/self/cgroup", "0::/pod/two\n");
  Write("sys/fs/cgroup/pod/memory.max", absl::StrCat(300 * kMib, "\n"));
  Write("sys/fs/cgroup/pod/memory.stat",
        absl::StrCat("anon 5\nshmem ", 190 * kMib, "\nshmem_thp 7\n"));
  Write("sys/fs/cgroup/pod/two/memory.max", absl::StrCat(200 * kMib, "\n"));
  need_ = {.files = 200 * kMib, .process = 32 * kMib};
  EXPECT_EQ(Limit(), 200u);
  // It is not known what this one is charged with.
  need_.allocated = 200 * kMib;
  EXPECT_EQ(Limit(), 200u);
  EXPECT_EQ(CountedAgainst(*ReadMemoryLimit(need_, root_), need_), 232 * kMib);
  Write("sys/fs/cgroup/pod/two/memory.stat", "shmem 0\n");
  EXPECT_EQ(Limit(), 300u);
  EXPECT_EQ(CountedAgainst(*ReadMemoryLimit(need_, root_), need_), 222 * kMib);
}

// A part of the allocated memory may be swapped out.
TEST_F(MemoryLimitTest, ACgroupIsChargedWithSwapSpace) {
  need_ = {.files = 90 * kMib, .allocated = 90 * kMib};
  Write("proc/meminfo", "SwapTotal:       51200 kB\n");
  Write("proc/self/cgroup", "0::/a\n");
  Write("sys/fs/cgroup/a/memory.max", absl::StrCat(100 * kMib, "\n"));
  Write("sys/fs/cgroup/a/memory.stat", absl::StrCat("shmem ", 8 * kMib, "\n"));
  EXPECT_EQ(CountedAgainst(*ReadMemoryLimit(need_, root_), need_), 90 * kMib);
  Write("sys/fs/cgroup/a/memory.swap.current", absl::StrCat(20 * kMib, "\n"));
  EXPECT_EQ(CountedAgainst(*ReadMemoryLimit(need_, root_), need_), 28 * kMib);

  Write("proc/self/cgroup", "1:memory:/a\n");
  Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes",
        absl::StrCat(100 * kMib, "\n"));
  Write("sys/fs/cgroup/memory/a/memory.stat",
        absl::StrCat("shmem 1\nswap 1\ntotal_shmem ", 8 * kMib, "\n"));
  EXPECT_EQ(CountedAgainst(*ReadMemoryLimit(need_, root_), need_), 90 * kMib);
  Write("sys/fs/cgroup/memory/a/memory.stat",
        absl::StrCat("shmem 1\nswap 1\ntotal_shmem ", 8 * kMib, "\ntotal_swap ",
                     2 * kMib, "\n"));
  EXPECT_EQ(CountedAgainst(*ReadMemoryLimit(need_, root_), need_), 10 * kMib);
}

NodeFlags Flags() {
  NodeFlags flags;
  flags.storage.cluster_id = "c";
  flags.storage.node_id = "n1";
  flags.storage.heap_bytes = 16 * kMib;
  flags.storage.ring_bytes = 16 * kMib;
  flags.snapshot_mb = 64;
  return flags;
}

// The computed need equals what a node with these flags takes.
TEST_F(MemoryLimitTest, TheNeedIsWhatANodeTakes) {
  for (const UndoCopyKind kind :
       {UndoCopyKind::kSimple, UndoCopyKind::kDynamic, UndoCopyKind::kLog}) {
    NodeFlags flags = Flags();
    flags.storage.undo_copy = kind;
    flags.storage.mode = ChainMode::kTraditional;
    const std::string folder = absl::StrCat(root_, static_cast<int>(kind));
    auto media = FileMedia::Open(folder, engine::PmemMode::kForce, false);
    ASSERT_TRUE(media.ok()) << media.status();
    const auto storage = Storage::Open(flags.storage, *std::move(media));
    ASSERT_TRUE(storage.ok()) << storage.status();
    uint64_t bytes = 0;
    for (const char* name : {"heap.pmem", "ring.pmem", "undo_copy.pmem"}) {
      bytes += std::filesystem::file_size(absl::StrCat(folder, "/", name));
    }
    EXPECT_EQ(NeedOf(flags, /*in_memory=*/true).files, bytes);
    // Nothing is allocated before the first start, all of it after.
    EXPECT_EQ(NeedOf(flags, /*in_memory=*/true).allocated, 0u);
    flags.data_dir = folder;
    EXPECT_EQ(NeedOf(flags, /*in_memory=*/true).allocated, bytes);
    // The kernel writes these back, or they are no memory of its.
    EXPECT_EQ(NeedOf(flags, /*in_memory=*/false).files, 0u);
    flags.device = "/dev/dax0.0";
    EXPECT_EQ(NeedOf(flags, /*in_memory=*/true).files, 0u);
  }
}

TEST_F(MemoryLimitTest, ANodeThatDoesNotFitIsRefused) {
  const NodeFlags flags = Flags();
  const MemoryNeed need = {
      .files = 200 * kMib, .process = 32 * kMib, .snapshots = 64 * kMib};
  EXPECT_TRUE(CheckMemory(flags, need, std::nullopt).ok());
  EXPECT_TRUE(CheckMemory(flags, need, MemoryLimit{232 * kMib, "f"}).ok());
  const absl::Status refused =
      CheckMemory(flags, need, MemoryLimit{231 * kMib, "/sys/f"});
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(HasSubstr("--heap_mb is 16 and does not fit the memory limit of "
                      "this process, 231 MiB (/sys/f)"),
            HasSubstr("need 200 MiB"), HasSubstr("the process 32 MiB"),
            HasSubstr("raise the limit to at least 329 MiB")));
  EXPECT_FALSE(
      CheckMemory(flags, {.process = 32 * kMib}, MemoryLimit{16 * kMib, "f"})
          .ok());
}

TEST_F(MemoryLimitTest, FilesChargedToTheCgroupCountAndOthersDoNot) {
  const NodeFlags flags = Flags();
  const MemoryNeed need = {
      .files = 200 * kMib, .allocated = 150 * kMib, .process = 32 * kMib};
  // By the same process as before, in the same cgroup.
  MemoryLimit limit = {231 * kMib, "/sys/f", 150 * kMib};
  EXPECT_FALSE(CheckMemory(flags, need, limit).ok());
  // Other files are charged as well.
  limit.charged = 500 * kMib;
  EXPECT_FALSE(CheckMemory(flags, need, limit).ok());
  // They were allocated in another one.
  limit.charged = 0;
  limit.bytes = 82 * kMib;
  EXPECT_TRUE(CheckMemory(flags, need, limit).ok());
  limit.bytes = 81 * kMib;
  EXPECT_THAT(std::string(CheckMemory(flags, need, limit).message()),
              HasSubstr("heap, ring and undo copy need 50 MiB beyond 150 MiB "
                        "that another cgroup is charged with"));
  limit.charged = 10 * kMib;
  limit.bytes = 91 * kMib;
  EXPECT_FALSE(CheckMemory(flags, need, limit).ok());
  EXPECT_NE(MemoryWarning(need, MemoryLimit{100 * kMib, "f", 10 * kMib}), "");
  EXPECT_EQ(MemoryWarning(need, MemoryLimit{110 * kMib, "f", 10 * kMib}), "");
}

TEST_F(MemoryLimitTest, ANodeThatBarelyFitsIsWarned) {
  const MemoryNeed need = {
      .files = 200 * kMib, .process = 32 * kMib, .snapshots = 64 * kMib};
  EXPECT_EQ(MemoryWarning(need, std::nullopt), "");
  EXPECT_EQ(MemoryWarning(need, MemoryLimit{330 * kMib, "f"}), "");
  EXPECT_THAT(MemoryWarning(need, MemoryLimit{320 * kMib, "f"}),
              AllOf(HasSubstr("nine tenths"), HasSubstr("320 MiB (f)"),
                    HasSubstr("open snapshots up to 64 MiB")));
}

}  // namespace
}  // namespace kamino::node
