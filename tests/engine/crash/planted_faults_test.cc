// The harness notices every planted fault, and nothing when there is none.
#include "tests/engine/crash/planted_faults.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "gtest/gtest.h"

namespace kamino::engine::crash {
namespace {

// Of the processor's time: how long that takes depends on what else runs.
constexpr unsigned kSeconds = 60;
// One that waits for ever takes none.
constexpr unsigned kMostSeconds = 600;
constexpr uint64_t kMany = 1000000;  // seeds

struct Verdict {
  bool caught = false;
  std::string how;
};

// The account's last line says what was wrong.
std::string LastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// In a process of its own, since a fault may end it.
Verdict Try(const PlantedFault& fault, uint64_t seeds) {
  int report[2];
  if (pipe(report) != 0) return {};
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
    const itimerval limit = {{0, 0}, {kSeconds, 0}};
    if (setitimer(ITIMER_PROF, &limit, nullptr) != 0) _exit(1);
    alarm(kMostSeconds);
    const Trial trial = RunWithFault(fault, seeds);
    const std::string line = LastLine(trial.account);
    if (write(report[1], line.data(), line.size()) < 0) _exit(1);
    _exit(trial.noticed ? 0 : 1);
  }
  close(report[1]);
  Verdict verdict;
  char buffer[4096];
  for (ssize_t got; (got = read(report[0], buffer, sizeof(buffer))) > 0;) {
    verdict.how.append(buffer, got);
  }
  close(report[0]);
  int status = 0;
  waitpid(child, &status, 0);
  verdict.caught = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    // A process that dies fails a test as well; one that never ends does not
    // say why.
    verdict.caught = number == SIGABRT || number == SIGSEGV;
    verdict.how = "died: " + std::string(strsignal(number));
  }
  return verdict;
}

TEST(PlantedFaultsTest, EveryOneIsCaught) {
  ASSERT_GE(PlantedFaults().size(), 20u);
  for (const PlantedFault& fault : PlantedFaults()) {
    const auto start = std::chrono::steady_clock::now();
    const Verdict verdict = Try(fault, kMany);
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    std::printf("%-38s %-15s %6.2f s  %s\n", fault.name.c_str(),
                fault.scheme.c_str(), took.count(), verdict.how.c_str());
    EXPECT_TRUE(verdict.caught) << fault.name << ": " << verdict.how;
  }
}

TEST(PlantedFaultsTest, NothingIsCaughtWhereNothingIsWrong) {
  for (const char* scheme : {"kamino-simple", "kamino-dynamic"}) {
    const Verdict verdict = Try({"", scheme}, /*seeds=*/3);
    EXPECT_EQ(verdict.how, "") << scheme;
  }
}

}  // namespace
}  // namespace kamino::engine::crash
