#include "node/storage/medium_errors.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/pmem/file_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node/driver/core_thread.h"
#include "node/storage/file_media.h"
#include "tests/faults/fault.h"

// The library's calls fail from here on, as if a disk did.
bool writes_are_lost = false;

// The library's, but that it says when the folder of a record is synced.
extern "C" int fsync(int file) {
  if (faccessat(file, kamino::node::kDamageFile, F_OK, 0) == 0) {
    constexpr char kSaid[] = "its folder is synced\n";
    (void)!write(STDERR_FILENO, kSaid, sizeof(kSaid) - 1);
  }
  struct stat info;
  if (writes_are_lost && fstat(file, &info) == 0 && info.st_size > 4096 &&
      S_ISREG(info.st_mode)) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fsync, file));
}

extern "C" int fdatasync(int file) {
  if (!writes_are_lost) return static_cast<int>(syscall(SYS_fdatasync, file));
  errno = EIO;
  return -1;
}

namespace kamino::node {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Part = Media::Part;

constexpr size_t kBytes = 1 << 20;

class MediumErrorsDeathTest : public ::testing::Test {
 protected:
  MediumErrorsDeathTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    folder_ = absl::StrCat(::testing::TempDir(), "/medium_errors");
    const std::string command =
        absl::StrCat("rm -rf ", folder_, "; mkdir -p ", folder_);
    EXPECT_EQ(system(command.c_str()), 0);
  }

  // In a process of its own: a file of the node loses its end.
  void TouchTruncatedFile() {
    RecordMediumErrors(folder_, "");
    auto media = *FileMedia::Open(folder_, engine::PmemMode::kForce, false);
    auto region = *media->Create(Part::kHeap, kBytes);
    ASSERT_TRUE(media->Publish(Part::kHeap).ok());
    ASSERT_EQ(truncate(media->Name(Part::kHeap).c_str(), 8192), 0);
    region->base()[4096] = std::byte{1};  // still there
    region->base()[12345] = std::byte{1};
    _exit(0);
  }

  // The same, by the thread that a node's core and heap live on.
  void TouchTruncatedFileOnTheCoreThread() {
    RecordMediumErrors(folder_, "");
    auto media = *FileMedia::Open(folder_, engine::PmemMode::kForce, false);
    auto region = *media->Create(Part::kHeap, kBytes);
    ASSERT_TRUE(media->Publish(Part::kHeap).ok());
    ASSERT_EQ(truncate(media->Name(Part::kHeap).c_str(), 8192), 0);
    const auto thread = *CoreThread::Create({});
    thread->Start({[] {}, [] { return false; }});
    thread->Post([&] { region->base()[12345] = std::byte{1}; });
    thread->Stop();
    _exit(0);
  }

  void WriteToADiskThatFails() {
    RecordMediumErrors(folder_, "");
    auto media = *FileMedia::Open(folder_, engine::PmemMode::kAuto, false);
    auto region = *media->Create(Part::kHeap, kBytes);
    ASSERT_TRUE(media->Publish(Part::kHeap).ok());
    region->base()[12345] = std::byte{1};
    writes_are_lost = true;
    region->Persist(region->base() + 12345, 1);
    _exit(0);
  }

  void OpenAfterLostWrites() {
    RecordMediumErrors(folder_, "");
    auto media = *FileMedia::Open(folder_, engine::PmemMode::kAuto, false);
    ASSERT_TRUE(media->Create(Part::kHeap, kBytes).ok());
    ASSERT_TRUE(media->Publish(Part::kHeap).ok());
    writes_are_lost = true;
    const auto region = media->Open(Part::kHeap);
    _exit(0);
  }

  // Two threads fault. The second fault comes while the first thread is still
  // in its handler, as the FIFO that it writes to has no reader.
  void TouchTruncatedFileTwice() {
    RecordMediumErrors(folder_, "");
    auto media = *FileMedia::Open(folder_, engine::PmemMode::kForce, false);
    auto region = *media->Create(Part::kHeap, kBytes);
    ASSERT_TRUE(media->Publish(Part::kHeap).ok());
    ASSERT_EQ(truncate(media->Name(Part::kHeap).c_str(), 8192), 0);
    const std::string record = absl::StrCat(folder_, "/", kDamageFile);
    ASSERT_EQ(mkfifo(record.c_str(), 0644), 0);
    for (const size_t byte : {12345, 23456}) {
      std::atomic<pid_t> thread{0};
      std::thread([&, byte] {
        thread = gettid();
        region->base()[byte] = std::byte{1};
        _exit(0);
      }).detach();
      while (thread == 0 || !InHandler(thread)) sched_yield();
    }
    const int reader = open(record.c_str(), O_RDONLY);
    char text[256];
    while (read(reader, text, sizeof(text)) > 0) {
    }
    for (;;) pause();
  }

  // Whether it is in a handler of SIGBUS: the signal is blocked then.
  static bool InHandler(pid_t thread) {
    std::ifstream status(absl::StrCat("/proc/self/task/", thread, "/status"));
    for (std::string line; std::getline(status, line);) {
      if (!absl::StartsWith(line, "SigBlk:")) continue;
      const uint64_t blocked = std::stoull(line.substr(7), nullptr, 16);
      return (blocked >> (SIGBUS - 1) & 1) != 0;
    }
    return false;
  }

  std::string folder_;
};

TEST_F(MediumErrorsDeathTest, ThePlaceIsRecordedAndTheNodeStaysDown) {
  EXPECT_TRUE(CheckNoDamage(folder_).ok());
  EXPECT_EXIT(TouchTruncatedFile(), ::testing::ExitedWithCode(1),
              "heap.pmem at byte 12345: the file is shorter than it was");
  const absl::Status refused = CheckNoDamage(folder_);
  EXPECT_TRUE(absl::IsDataLoss(refused));
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(HasSubstr("damage.txt: an earlier process"),
            HasSubstr("heap.pmem at byte 12345"), HasSubstr("move all files")));
}

TEST_F(MediumErrorsDeathTest, TheCoreThreadsFaultIsRecorded) {
  EXPECT_EXIT(TouchTruncatedFileOnTheCoreThread(), ::testing::ExitedWithCode(1),
              "heap.pmem at byte 12345: the file is shorter than it was");
  EXPECT_TRUE(absl::IsDataLoss(CheckNoDamage(folder_)));
  const auto with_a_fault = [this] {
    faults::PlantFault("loop-blocks-faults-of-its-own");
    TouchTruncatedFileOnTheCoreThread();
  };
  EXPECT_EQ(system(absl::StrCat("rm ", folder_, "/*").c_str()), 0);
  EXPECT_EXIT(with_a_fault(), ::testing::KilledBySignal(SIGBUS), "");
  EXPECT_TRUE(CheckNoDamage(folder_).ok());
}

TEST_F(MediumErrorsDeathTest, AFailedWriteIsRecorded) {
  EXPECT_EXIT(WriteToADiskThatFails(), ::testing::ExitedWithCode(1),
              "cannot write .*heap.pmem at byte 12345: Input/output error");
  EXPECT_THAT(std::string(CheckNoDamage(folder_).message()),
              AllOf(HasSubstr("heap.pmem at byte 12345"),
                    HasSubstr("may be lost"), HasSubstr("move all files")));
  // The loss is also noticed when only the next process is told of it.
  EXPECT_EXIT(OpenAfterLostWrites(), ::testing::ExitedWithCode(1),
              "cannot write .*heap.pmem: Input/output error");
  EXPECT_TRUE(absl::IsDataLoss(CheckNoDamage(folder_)));
}

TEST_F(MediumErrorsDeathTest, AMediumThatFailsIsRememberedByItsRecordAlone) {
  const auto with_a_fault = [this] {
    faults::PlantFault("medium-that-fails-is-forgotten");
    WriteToADiskThatFails();
  };
  EXPECT_EXIT(with_a_fault(), ::testing::KilledBySignal(SIGABRT), "");
  EXPECT_TRUE(CheckNoDamage(folder_).ok());
}

TEST_F(MediumErrorsDeathTest, AFaultIsRecordedDespiteAnotherThreadsFault) {
  EXPECT_EXIT(TouchTruncatedFileTwice(), ::testing::ExitedWithCode(1),
              "heap.pmem at byte 12345: the file is shorter than it was");
  const auto with_a_fault = [this] {
    faults::PlantFault("bus-error-handles-one-fault");
    TouchTruncatedFileTwice();
  };
  EXPECT_EQ(system(absl::StrCat("rm ", folder_, "/*").c_str()), 0);
  EXPECT_EXIT(with_a_fault(), ::testing::KilledBySignal(SIGBUS), "");
}

TEST_F(MediumErrorsDeathTest, TheRecordsNameIsSynced) {
  EXPECT_EXIT(TouchTruncatedFile(), ::testing::ExitedWithCode(1),
              "its folder is synced\ncannot read .*heap.pmem at byte 12345");
  const auto with_a_fault = [this] {
    faults::PlantFault("bus-error-forgets-the-folder");
    TouchTruncatedFile();
  };
  EXPECT_EQ(system(absl::StrCat("rm ", folder_, "/*").c_str()), 0);
  EXPECT_EXIT(
      with_a_fault(), ::testing::ExitedWithCode(1),
      ::testing::AllOf(HasSubstr("heap.pmem at byte 12345"),
                       ::testing::Not(HasSubstr("its folder is synced"))));
}

TEST_F(MediumErrorsDeathTest, AnEmptyRecordReportsAnUnknownPlace) {
  std::ofstream(absl::StrCat(folder_, "/", kDamageFile));
  EXPECT_THAT(std::string(CheckNoDamage(folder_).message()),
              AllOf(HasSubstr("at an unknown place. Nothing is"),
                    HasSubstr("move all files")));
}

TEST_F(MediumErrorsDeathTest, ARecordThatIsNoFileIsRefused) {
  const std::string record = absl::StrCat(folder_, "/", kDamageFile);
  for (const bool fifo : {true, false}) {
    ASSERT_EQ(fifo ? mkfifo(record.c_str(), 0644) : mkdir(record.c_str(), 0755),
              0);
    const absl::Status refused = CheckNoDamage(folder_);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused));
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("is not a regular file"));
    ASSERT_EQ(remove(record.c_str()), 0);
  }
}

TEST_F(MediumErrorsDeathTest, FaultsOutsideTheNodesFilesAreNotRecorded) {
  const std::string other = absl::StrCat(::testing::TempDir(), "/other");
  const auto touch = [&] {
    RecordMediumErrors(folder_, "");
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
