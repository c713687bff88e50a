// Records the operations of a load: which count, and how long they took.
#ifndef KAMINO_BENCH_SERVICE_RECORDER_H_
#define KAMINO_BENCH_SERVICE_RECORDER_H_

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "bench/service/caller.h"
#include "bench/service/load.h"

namespace kamino::bench::service {

// Receives the end of each operation, from any thread. Without a window only
// errors count.
class Recorder {
 public:
  void OpenWindow(Nanos at) { begin_.store(at, std::memory_order_relaxed); }
  void CloseWindow(Nanos at) { end_.store(at, std::memory_order_relaxed); }
  // From now on: the warm-up, then the window. Returns once it is closed.
  void Watch(const Window& window);

  void Sent(Nanos due, Nanos at) {
    if (!Within(due)) return;
    absl::MutexLock lock(&mutex_);
    outcome_.lateness.Add(static_cast<uint64_t>(std::max<Nanos>(at - due, 0)));
  }

  // `writes`: it changed something.
  void Ended(Nanos due, Nanos at, bool writes, const absl::Status& status) {
    absl::MutexLock lock(&mutex_);
    if (!status.ok()) {
      if (outcome_.errors++ == 0) outcome_.first_error = status;
      return;
    }
    if (Within(at)) ++outcome_.ended;
    if (!Within(due)) return;
    const auto took = static_cast<uint64_t>(std::max<Nanos>(at - due, 0));
    outcome_.latency.Add(took);
    if (writes) outcome_.latency_of_writes.Add(took);
  }

  // Once nothing is under way.
  Outcome Take() {
    absl::MutexLock lock(&mutex_);
    outcome_.elapsed = absl::Nanoseconds(end_.load() - begin_.load());
    return std::move(outcome_);
  }

 private:
  static constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

  bool Within(Nanos at) const {
    return at >= begin_.load(std::memory_order_relaxed) &&
           at < end_.load(std::memory_order_relaxed);
  }

  std::atomic<Nanos> begin_{kNever};
  std::atomic<Nanos> end_{kNever};
  absl::Mutex mutex_;
  Outcome outcome_ ABSL_GUARDED_BY(mutex_);
};

inline void Recorder::Watch(const Window& window) {
  const absl::Notification nothing;
  nothing.WaitForNotificationWithTimeout(window.warm_up);
  if (window.begins) window.begins();
  OpenWindow(NowNanos());
  nothing.WaitForNotificationWithTimeout(window.length);
  CloseWindow(NowNanos());
  if (window.ends) window.ends();
}

}  // namespace kamino::bench::service

#endif  // KAMINO_BENCH_SERVICE_RECORDER_H_
