// Where the processors' time went: by process, and what the host took of it.
#ifndef KAMINO_BENCH_SERVICE_MACHINE_H_
#define KAMINO_BENCH_SERVICE_MACHINE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace kamino::bench::service {

// A server of a subject.
struct Process {
  std::string role;  // such as "head"
  pid_t pid = 0;
};

// Processor time of all threads of a process, including those that have ended.
// 0 stands for this process. kNotFound: it has ended.
absl::StatusOr<absl::Duration> ProcessorTime(pid_t pid);

// Ticks of all processors since the machine started.
struct SystemTicks {
  uint64_t all = 0;
  uint64_t idle = 0;   // and waiting for disks
  uint64_t steal = 0;  // the host had other work
};

// `text` is that of /proc/stat.
absl::StatusOr<SystemTicks> ParseSystemTicks(absl::string_view text);
absl::StatusOr<SystemTicks> ReadSystemTicks();

// Parts of the ticks between the two.
double StealFraction(const SystemTicks& before, const SystemTicks& after);
double IdleFraction(const SystemTicks& before, const SystemTicks& after);

// At one moment: this process, and then `processes`.
struct Usage {
  SystemTicks system;
  std::vector<absl::Duration> processor_time;
};
absl::StatusOr<Usage> ReadUsage(const std::vector<Process>& processes);

// As the first line of /proc/cpuinfo that names one says.
std::string ProcessorModel();

}  // namespace kamino::bench::service

#endif  // KAMINO_BENCH_SERVICE_MACHINE_H_
