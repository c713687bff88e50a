#include "membership/server_program.h"

#include <signal.h>
#include <unistd.h>

#include <string>

#include "glog/logging.h"
#include "gtest/gtest.h"

namespace kamino::membership {
namespace {

// A whole program whose log goes to a pipe that nobody reads any more.
[[noreturn]] void LogToNobody() {
  signal(SIGPIPE, SIG_DFL);  // as a shell starts it
  ServerProgram program;
  program.name = "logger";
  program.configure = [] { return absl::OkStatus(); };
  program.serve = [](const std::function<void()>&) {
    int ends[2];
    PCHECK(pipe(ends) == 0);
    PCHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    PCHECK(close(ends[0]) == 0);
    LOG(INFO) << "nobody reads this";
    return absl::FailedPreconditionError("the last line");
  };
  std::string name = "logger";
  char* arguments[] = {name.data(), nullptr};
  _exit(RunServer(program, 1, arguments));
}

TEST(ServerProgramDeathTest, OneWhoseLogIsReadNoMoreGoesOn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(LogToNobody(), testing::ExitedWithCode(1), "");
}

}  // namespace
}  // namespace kamino::membership
