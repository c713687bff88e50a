#include "bench/service/machine.h"

#include <errno.h>
#include <time.h>

#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace kamino::bench::service {
namespace {

double Fraction(uint64_t part, const SystemTicks& before,
                const SystemTicks& after) {
  const uint64_t all = after.all - before.all;
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

absl::StatusOr<absl::Duration> ProcessorTime(pid_t pid) {
  clockid_t clock;
  timespec spent = {};
  const int error = ::clock_getcpuclockid(pid, &clock);
  if (error != 0 || ::clock_gettime(clock, &spent) != 0) {
    return absl::NotFoundError(absl::StrCat("process ", pid, " has ended"));
  }
  return absl::DurationFromTimespec(spent);
}

absl::StatusOr<SystemTicks> ParseSystemTicks(absl::string_view text) {
  // cpu user nice system idle iowait irq softirq steal ...; guests are within
  // user and nice.
  constexpr size_t kIdle = 4, kWait = 5, kSteal = 8;
  const std::vector<absl::string_view> words =
      absl::StrSplit(text.substr(0, text.find('\n')), ' ', absl::SkipEmpty());
  if (words.size() <= kSteal || words[0] != "cpu") {
    return absl::InternalError("/proc/stat is not as expected");
  }
  SystemTicks ticks;
  for (size_t i = 1; i <= kSteal; ++i) {
    uint64_t count;
    if (!absl::SimpleAtoi(words[i], &count)) {
      return absl::InternalError("/proc/stat is not as expected");
    }
    ticks.all += count;
    if (i == kIdle || i == kWait) ticks.idle += count;
    if (i == kSteal) ticks.steal = count;
  }
  return ticks;
}

absl::StatusOr<SystemTicks> ReadSystemTicks() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  return ParseSystemTicks(line);
}

double StealFraction(const SystemTicks& before, const SystemTicks& after) {
  return Fraction(after.steal - before.steal, before, after);
}

double IdleFraction(const SystemTicks& before, const SystemTicks& after) {
  return Fraction(after.idle - before.idle, before, after);
}

absl::StatusOr<Usage> ReadUsage(const std::vector<Process>& processes) {
  Usage usage;
  ASSIGN_OR_RETURN(usage.system, ReadSystemTicks());
  ASSIGN_OR_RETURN(const absl::Duration own, ProcessorTime(0));
  usage.processor_time.push_back(own);
  for (const Process& process : processes) {
    const auto spent = ProcessorTime(process.pid);
    if (!spent.ok()) {
      return absl::Status(
          spent.status().code(),
          absl::StrCat(process.role, ": ", spent.status().message()));
    }
    usage.processor_time.push_back(*spent);
  }
  return usage;
}

std::string ProcessorModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, "model name")) continue;
    const std::vector<std::string> halves =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    if (halves.size() == 2) return halves[1];
  }
  return "unknown";
}

}  // namespace kamino::bench::service
