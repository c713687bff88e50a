// A thread that waits for audit lines to be written, so that the threads of
// gRPC and the core thread of a node do not.
//
// An operator's call leaves a line, and ends only once that line is written, or
// fails. So the call acts and ends on this thread, which writes the line in
// between. The thread serves one call after the other. A call holds a place
// from Begin until it ends, and the number of places is bounded.
#ifndef KAMINO_LOGS_AUDIT_THREAD_H_
#define KAMINO_LOGS_AUDIT_THREAD_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kamino::logs {

// Thread-safe.
class AuditThread {
 public:
  struct Options {
    size_t most_calls = 64;
    // A call that has waited this long for its turn is refused. So is a new
    // call while the thread has been in one step for this long.
    absl::Duration patience = absl::Seconds(1);
    // Null: MonotonicNow. Any thread calls it.
    std::function<absl::Time()> clock;
  };
  class Place;
  using PlacePtr = std::shared_ptr<const Place>;

  // Runs on the thread. `admitted`: not OK, the call must end with that error
  // and without an effect. It may keep `place` for Continue.
  using First =
      std::function<void(const PlacePtr& place, const absl::Status& admitted)>;

  AuditThread() : AuditThread(Options()) {}
  explicit AuditThread(Options options);
  // Runs the steps that are queued. No call may hold a place after that.
  ~AuditThread();
  AuditThread(const AuditThread&) = delete;
  AuditThread& operator=(const AuditThread&) = delete;

  // --- Neither waits.

  // kFailedPrecondition: the call must fail with this error; `first` is not
  // queued.
  absl::Status Begin(First first) ABSL_LOCKS_EXCLUDED(mutex_);
  // Queues a further step of the call that holds `place`. It is never refused.
  void Continue(PlacePtr place, std::function<void()> step)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status CheckMayBegin(absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;

  mutable absl::Mutex mutex_;
  std::deque<std::function<void()>> steps_ ABSL_GUARDED_BY(mutex_);
  size_t calls_ ABSL_GUARDED_BY(mutex_) = 0;  // that hold a place
  // When the step that runs began.
  absl::Time step_began_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool stops_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_AUDIT_THREAD_H_
