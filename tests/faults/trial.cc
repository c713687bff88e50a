#include "tests/faults/trial.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace kamino::faults {
namespace {

// Processor time, since the elapsed time depends on other processes.
constexpr rlim_t kSeconds = 600;
// One that waits for ever takes none.
constexpr unsigned kMostSeconds = 1500;

enum ExitCode { kCaught = 0, kNotCaught = 1, kNotRun = 2 };

[[noreturn]] void RunChild(const std::function<Verdict()>& trial, int report) {
  if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(kNotRun);
  const rlimit limit{kSeconds, kSeconds};
  if (setrlimit(RLIMIT_CPU, &limit) != 0) _exit(kNotRun);
  alarm(kMostSeconds);
  const Verdict verdict = trial();
  const std::string& how = verdict.how;
  if (write(report, how.data(), how.size()) < 0) _exit(kNotRun);
  _exit(verdict.caught ? kCaught : kNotCaught);
}

}  // namespace

Verdict RunTrial(const std::function<Verdict()>& trial) {
  int report[2];
  if (pipe(report) != 0) return {false, "there is no pipe for the trial"};
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) RunChild(trial, report[1]);
  close(report[1]);
  Verdict verdict;
  char buffer[4096];
  for (ssize_t got; (got = read(report[0], buffer, sizeof(buffer))) > 0;) {
    verdict.how.append(buffer, static_cast<size_t>(got));
  }
  close(report[0]);
  if (child < 0) return {false, "there is no process for the trial"};
  int status = 0;
  if (waitpid(child, &status, 0) != child) {
    return {false, "the trial's process is lost"};
  }
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    verdict.caught = number == SIGABRT || number == SIGSEGV;
    verdict.how = "died: " + std::string(strsignal(number));
    return verdict;
  }
  const int code = WEXITSTATUS(status);
  verdict.caught = code == kCaught;
  if (code != kCaught && code != kNotCaught) {
    verdict.how =
        "the trial gave no verdict: exit code " + std::to_string(code);
  }
  return verdict;
}

}  // namespace kamino::faults
