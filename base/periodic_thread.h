// Calls a function on a thread of its own, again and again, with an interval
// between the end of a call and the next one.
//
// Threads: the call runs on that thread and must not destroy this object; any
// other thread may.
#ifndef KAMINO_BASE_PERIODIC_THREAD_H_
#define KAMINO_BASE_PERIODIC_THREAD_H_

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kamino {

class PeriodicThread {
 public:
  // The first call follows after `interval`. `name`: at most 15 bytes.
  PeriodicThread(const char* name, absl::Duration interval,
                 std::function<void()> call);
  // Waits for the end of a call that is under way.
  ~PeriodicThread();
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

 private:
  void Run();

  const absl::Duration interval_;
  const std::function<void()> call_;
  absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kamino

#endif  // KAMINO_BASE_PERIODIC_THREAD_H_
