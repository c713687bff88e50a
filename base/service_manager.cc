#include "base/service_manager.h"

#include <systemd/sd-daemon.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace kamino {
namespace {

// Pings per watchdog timeout.
constexpr int kPingsPerLimit = 4;

// Errors are ignored: a service manager that misses a message does no harm.
void Tell(const std::string& lines) {
  sd_notify(/*unset_environment=*/0, lines.c_str());
}

std::string StatusLine(const std::string& status) {
  return absl::StrCat("STATUS=", absl::StrReplaceAll(status, {{"\n", " "}}));
}

}  // namespace

void TellServiceIsReady(const std::string& status) {
  Tell(absl::StrCat("READY=1\n", StatusLine(status)));
}

void TellServiceStatus(const std::string& status) { Tell(StatusLine(status)); }

void TellServiceStops() { Tell("STOPPING=1\nSTATUS=ends"); }

ServiceWatchdog::ServiceWatchdog() {
  uint64_t micros = 0;
  if (sd_watchdog_enabled(/*unset_environment=*/0, &micros) <= 0) return;
  interval_ = absl::Microseconds(micros) / kPingsPerLimit;
}

void ServiceWatchdog::Alive(absl::Time now) {
  if (interval_ == absl::InfiniteDuration() || now < next_) return;
  next_ = now + interval_;
  Tell("WATCHDOG=1");
}

}  // namespace kamino
