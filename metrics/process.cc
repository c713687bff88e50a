// Reads this process's statistics from /proc.
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "metrics/page.h"

namespace kamino::metrics {
namespace {

// Since the epoch; 0: unknown.
double BootTime() {
  std::ifstream stat("/proc/stat");
  std::string word;
  while (stat >> word) {
    double seconds = 0;
    if (word == "btime" && stat >> seconds) return seconds;
    stat.ignore(1 << 20, '\n');
  }
  return 0;
}

struct ProcessStat {
  double processor_ticks = 0;
  double start_ticks = 0;  // after the boot
  double virtual_bytes = 0;
  double resident_pages = 0;
};

ProcessStat ReadProcessStat() {
  std::ifstream file("/proc/self/stat");
  std::stringstream whole;
  whole << file.rdbuf();
  const std::string text = whole.str();
  ProcessStat stat;
  // The name, in parentheses, may contain any character.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return stat;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int number = 3; fields >> field; ++number) {  // as proc(5) counts
    const double value = number == 3 ? 0 : std::strtod(field.c_str(), nullptr);
    if (number == 14 || number == 15) stat.processor_ticks += value;
    if (number == 22) stat.start_ticks = value;
    if (number == 23) stat.virtual_bytes = value;
    if (number == 24) stat.resident_pages = value;
  }
  return stat;
}

double OpenDescriptors() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int entries = 0;
  while (readdir(folder) != nullptr) ++entries;
  closedir(folder);
  return entries - 3;  // ., .. and the folder's own
}

}  // namespace

void DescribeProcess(Families* families) {
  static const double boot_time = BootTime();
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const double page_bytes = static_cast<double>(sysconf(_SC_PAGESIZE));
  const ProcessStat stat = ReadProcessStat();
  families->Gauge("process_start_time_seconds",
                  "Start time of the process, in seconds since 1970.",
                  boot_time + stat.start_ticks / ticks);
  families->Counter("process_cpu_seconds_total",
                    "Processor time used by the process, in seconds.",
                    stat.processor_ticks / ticks);
  families->Gauge("process_resident_memory_bytes",
                  "Memory of the process, mapped files included.",
                  stat.resident_pages * page_bytes);
  families->Gauge("process_virtual_memory_bytes",
                  "Address space of the process.", stat.virtual_bytes);
  families->Gauge("process_open_fds", "Open file descriptors of the process.",
                  OpenDescriptors());
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  families->Gauge("process_max_fds", "Maximum number of open file descriptors.",
                  static_cast<double>(limit.rlim_cur));
}

}  // namespace kamino::metrics
