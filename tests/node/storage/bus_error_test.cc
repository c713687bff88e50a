#include "node/storage/bus_error.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "engine/pmem/file_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node/storage/file_media.h"

namespace kamino::node {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Part = Media::Part;

constexpr size_t kBytes = 1 << 20;

class BusErrorDeathTest : public ::testing::Test {
 protected:
  BusErrorDeathTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    folder_ = absl::StrCat(::testing::TempDir(), "/bus_error");
    const std::string command =
        absl::StrCat("rm -rf ", folder_, "; mkdir -p ", folder_);
    EXPECT_EQ(system(command.c_str()), 0);
  }

  // In a process of its own: a file of the node loses its end.
  void TouchWhatIsGone() {
    RecordBusErrors(folder_, "");
    auto media = *FileMedia::Open(folder_, engine::PmemMode::kForce, false);
    auto region = *media->Create(Part::kHeap, kBytes);
    ASSERT_TRUE(media->Publish(Part::kHeap).ok());
    ASSERT_EQ(truncate(media->Name(Part::kHeap).c_str(), 8192), 0);
    region->base()[4096] = std::byte{1};  // still there
    region->base()[12345] = std::byte{1};
    _exit(0);
  }

  std::string folder_;
};

TEST_F(BusErrorDeathTest, ThePlaceIsRecordedAndTheNodeStaysDown) {
  EXPECT_TRUE(CheckNoDamage(folder_).ok());
  EXPECT_EXIT(TouchWhatIsGone(), ::testing::ExitedWithCode(1),
              "heap.pmem at byte 12345: the file is shorter than it was");
  const absl::Status refused = CheckNoDamage(folder_);
  EXPECT_TRUE(absl::IsDataLoss(refused));
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(HasSubstr("damage.txt: an earlier process"),
            HasSubstr("heap.pmem at byte 12345"), HasSubstr("move all files")));
}

TEST_F(BusErrorDeathTest, WhatIsNotTheNodesIsNotRecorded) {
  const std::string other = absl::StrCat(::testing::TempDir(), "/other");
  const auto touch = [&] {
    RecordBusErrors(folder_, "");
    const int file = open(other.c_str(), O_RDWR | O_CREAT, 0644);
    void* memory =
        mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    static_cast<volatile char*>(memory)[5000] = 1;
    _exit(0);
  };
  EXPECT_EXIT(touch(), ::testing::KilledBySignal(SIGBUS), "");
  EXPECT_TRUE(CheckNoDamage(folder_).ok());
}

}  // namespace
}  // namespace kamino::node
