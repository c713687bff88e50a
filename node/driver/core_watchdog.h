// Logs when a node's core thread is busy with one step for long, and with
// which: everything else waits for it.
#ifndef KAMINO_NODE_DRIVER_CORE_WATCHDOG_H_
#define KAMINO_NODE_DRIVER_CORE_WATCHDOG_H_

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "node/driver/core_activity.h"

namespace kamino::node {

struct CoreWatchdogOptions {
  // A longer step is logged, while it lasts and when it has ended; the watchdog
  // may see it up to half of this time late.
  absl::Duration patience = absl::Milliseconds(100);
  // At most one step is logged in this time; the line counts the others.
  absl::Duration spacing = absl::Seconds(1);
  // Called at each look that finds the core idle or in another step than the
  // last look; may be null. On the watchdog's thread.
  std::function<void()> goes_on;
  // Destination of lines; null: the log.
  std::function<void(const std::string& line)> log;
};

// Watches from construction to destruction, on a thread of its own.
class CoreWatchdog {
 public:
  // `activity` must outlive this.
  CoreWatchdog(CoreWatchdogOptions options, const CoreActivity* activity);
  ~CoreWatchdog();
  CoreWatchdog(const CoreWatchdog&) = delete;
  CoreWatchdog& operator=(const CoreWatchdog&) = delete;

 private:
  void Run();
  void Look(absl::Time now);
  void Say(const std::string& line) const;

  const CoreWatchdogOptions options_;
  const CoreActivity* const activity_;

  // The current step, as of the last look.
  uint64_t step_ = 0;
  absl::Time seen_since_ = absl::InfiniteFuture();
  std::string what_;  // set once it is found to take long
  bool said_ = false;
  absl::Time quiet_until_ = absl::InfinitePast();
  int unsaid_ = 0;  // long steps not logged

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_CORE_WATCHDOG_H_
