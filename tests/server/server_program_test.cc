#include "server/server_program.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "gtest/gtest.h"

namespace kamino::server {
namespace {

// A whole program that runs `serve`.
[[noreturn]] void RunProgram(std::function<absl::Status()> serve) {
  ServerProgram program;
  program.name = "program";
  program.check = [] { return absl::OkStatus(); };
  program.serve = [&serve](const std::function<void()>&) { return serve(); };
  std::string name = "program";
  char* arguments[] = {name.data(), nullptr};
  _exit(RunServer(program, 1, arguments));
}

// Logs to a pipe that no process reads any more.
absl::Status LogToAClosedPipe() {
  int ends[2];
  PCHECK(pipe(ends) == 0);
  PCHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
  PCHECK(close(ends[0]) == 0);
  LOG(INFO) << "no process reads this";
  return absl::FailedPreconditionError("the last line");
}

void HaveNoMoreMemory() {
  const rlimit none = {0, 0};
  PCHECK(setrlimit(RLIMIT_DATA, &none) == 0);
}

absl::Status AllocateForEver() {
  std::vector<void*> all;  // else the compiler leaves them out
  for (;;) all.push_back(::operator new(64u << 20));
}

// Imitates a library that does not check malloc's result.
absl::Status StoreToNull() {
  volatile int* volatile null = nullptr;
  null[8] = 1;
  return absl::OkStatus();
}

TEST(ServerProgramDeathTest, AProgramSurvivesALogThatIsReadNoMore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        signal(SIGPIPE, SIG_DFL);  // as a shell starts it
        RunProgram(LogToAClosedPipe);
      },
      testing::ExitedWithCode(1), "");
}

TEST(ServerProgramDeathTest, OutOfMemoryIsReported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RunProgram([] {
                HaveNoMoreMemory();
                return AllocateForEver();
              }),
              testing::ExitedWithCode(1), "out of memory: ");
  EXPECT_EXIT(RunProgram([] {
                HaveNoMoreMemory();
                abort();
                return absl::OkStatus();
              }),
              testing::ExitedWithCode(1), "out of memory: ");
  EXPECT_EXIT(RunProgram([] {
                HaveNoMoreMemory();
                return StoreToNull();
              }),
              testing::ExitedWithCode(1), "out of memory: ");
}

// Writes beyond a file's size limit; returns the error.
absl::Status WriteTooMuch() {
  rlimit before;
  PCHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit one_byte = {1, before.rlim_max};
  PCHECK(setrlimit(RLIMIT_FSIZE, &one_byte) == 0);
  std::string name = absl::StrCat(testing::TempDir(), "/too_much_XXXXXX");
  const int file = mkstemp(name.data());
  PCHECK(file >= 0);
  PCHECK(write(file, "ab", 2) == 1);  // what there is room for
  const ssize_t written = write(file, "b", 1);
  const int error = errno;
  unlink(name.c_str());
  PCHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);  // stderr may be a file
  if (written >= 0) return absl::OkStatus();
  return absl::ErrnoToStatus(error, "cannot write");
}

TEST(ServerProgramDeathTest, AFileBeyondItsSizeLimitIsAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RunProgram(WriteTooMuch), testing::ExitedWithCode(1),
              "cannot write: File too large");
}

TEST(ServerProgramDeathTest, OtherExitsReportTheirCause) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RunProgram([] {
                abort();
                return absl::OkStatus();
              }),
              testing::KilledBySignal(SIGABRT), "ended by SIGABRT\n$");
  EXPECT_EXIT(RunProgram(StoreToNull), testing::KilledBySignal(SIGSEGV),
              "ended by SIGSEGV at address 0x20\n$");
  EXPECT_EXIT(RunProgram([] { return absl::InternalError("it broke"); }),
              testing::ExitedWithCode(1), "\\] program: it broke\n$");
}

}  // namespace
}  // namespace kamino::server
