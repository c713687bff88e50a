// Says in the log when a node's core thread is busy with one step for long, and
// with what: everybody else waits for it.
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
  // A step that takes longer is logged, while it goes on and when it has ended;
  // seen at half of that again late.
  absl::Duration patience = absl::Milliseconds(100);
  // Of steps no more than one is logged in so much time; the line says how many
  // others there were.
  absl::Duration spacing = absl::Seconds(1);
  // Called at each look that finds the core idle or with another step than the
  // last one did; null: for nobody. On the watchdog's thread.
  std::function<void()> goes_on;
  // Where lines go; null: to the log.
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

  // Of the step that is under way, when it was looked at last.
  uint64_t step_ = 0;
  absl::Time seen_since_ = absl::InfiniteFuture();
  std::string what_;  // once it was found to take long; or empty
  bool said_ = false;
  absl::Time quiet_until_ = absl::InfinitePast();
  int unsaid_ = 0;  // long steps

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_CORE_WATCHDOG_H_
