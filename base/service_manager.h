// What the service manager that started this process is told of it: systemd,
// of units with Type=notify (sd_notify(3)). Without one nothing happens.
//
// Any thread.
#ifndef KAMINO_BASE_SERVICE_MANAGER_H_
#define KAMINO_BASE_SERVICE_MANAGER_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace kamino {

// The process has come up; `status` is one line about what it does now.
void TellServiceIsReady(const std::string& status);
void TellServiceStatus(const std::string& status);
// It ends.
void TellServiceStops();

// Keeps a service with WatchdogSec= from being ended as one that hangs.
class ServiceWatchdog {
 public:
  ServiceWatchdog();
  ServiceWatchdog(const ServiceWatchdog&) = delete;
  ServiceWatchdog& operator=(const ServiceWatchdog&) = delete;

  // The process goes on. From one thread, as often as it likes: the service
  // manager is told a few times within what it allows.
  void Alive(absl::Time now);

 private:
  absl::Duration interval_ = absl::InfiniteDuration();  // nobody watches
  absl::Time next_ = absl::InfinitePast();
};

}  // namespace kamino

#endif  // KAMINO_BASE_SERVICE_MANAGER_H_
