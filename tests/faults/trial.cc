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

[[noreturn]] void RunChild(const std::function<Verdict()>& trial, int report) {
  if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
  const rlimit limit{kSeconds, kSeconds};
  if (setrlimit(RLIMIT_CPU, &limit) != 0) _exit(1);
  alarm(kMostSeconds);
  const Verdict verdict = trial();
  if (write(report, verdict.how.data(), verdict.how.size()) < 0) _exit(1);
  _exit(verdict.caught ? 0 : 1);
}

}  // namespace

Verdict RunTrial(const std::function<Verdict()>& trial) {
  int report[2];
  if (pipe(report) != 0) return {};
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
  int status = 0;
  waitpid(child, &status, 0);
  verdict.caught = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    verdict.caught = number == SIGABRT || number == SIGSEGV;
    verdict.how = "died: " + std::string(strsignal(number));
  }
  return verdict;
}

}  // namespace kamino::faults
