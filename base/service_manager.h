// Notifies the service manager that started this process, systemd for units
// with Type=notify (sd_notify(3)). A no-op without one.
//
// Any thread.
#ifndef KAMINO_BASE_SERVICE_MANAGER_H_
#define KAMINO_BASE_SERVICE_MANAGER_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace kamino {

// The process has started; `status` describes its state in one line.
void TellServiceIsReady(const std::string& status);
void TellServiceStatus(const std::string& status);
// The process ends.
void TellServiceStops();

// Keeps a service with WatchdogSec= from being killed as hung.
class ServiceWatchdog {
 public:
  ServiceWatchdog();
  ServiceWatchdog(const ServiceWatchdog&) = delete;
  ServiceWatchdog& operator=(const ServiceWatchdog&) = delete;

  // Reports progress. Call it from one thread, at any rate: it notifies the
  // service manager a few times per watchdog interval.
  void Alive(absl::Time now);

 private:
  absl::Duration interval_ = absl::InfiniteDuration();  // no watchdog
  absl::Time next_ = absl::InfinitePast();
};

}  // namespace kamino

#endif  // KAMINO_BASE_SERVICE_MANAGER_H_
