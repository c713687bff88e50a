// Runs delayed tasks on its own thread.
#ifndef KAMINO_CLIENT_TIMER_H_
#define KAMINO_CLIENT_TIMER_H_

#include <functional>
#include <map>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kamino::client {

// Thread-safe.
class Timer {
 public:
  Timer();
  // Runs all waiting tasks at once, then stops.
  ~Timer();

  // `task` must not block for long.
  void After(absl::Duration delay, std::function<void()> task);
  // Runs all waiting tasks now: the event that they wait for has happened.
  void Hurry();

 private:
  void Run();
  bool Due() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  absl::CondVar changed_;
  std::multimap<absl::Time, std::function<void()>> tasks_
      ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_TIMER_H_
