// The thread that owns a node's protocol core and heap. Others post tasks to
// it.
#ifndef KAMINO_NODE_DRIVER_CORE_THREAD_H_
#define KAMINO_NODE_DRIVER_CORE_THREAD_H_

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "node/driver/core_executor.h"
#include "node/driver/core_watchdog.h"

namespace kamino::node {

class CoreThread final : public CoreExecutor {
 public:
  struct Options {
    // Ticks come at least that often.
    absl::Duration tick_interval = absl::Milliseconds(5);
    // A batch is all that was posted, or as much as this sufficed for.
    absl::Duration max_batch_time = absl::Milliseconds(2);
    // PostAndWait waits while tasks of this weight together are queued.
    size_t max_queued_weight = 64u << 20;
    CoreWatchdogOptions watchdog;
  };

  explicit CoreThread(Options options);  // watched if there is an activity
  ~CoreThread() override;                // Stop()
  CoreThread(const CoreThread&) = delete;
  CoreThread& operator=(const CoreThread&) = delete;

  void Start(Hooks hooks) override;
  bool Post(absl::AnyInvocable<void()> task) override;
  bool PostAndWait(absl::AnyInvocable<void()> task, size_t weight) override;
  // Runs what was posted before, then joins.
  void Stop() override;

 private:
  struct Task {
    absl::AnyInvocable<void()> run;
    size_t weight;
  };

  void Run();
  void BeginStep(absl::string_view what) {
    if (hooks_.activity != nullptr) hooks_.activity->BeginStep(what);
  }
  // Ticks if it is time to; returns what the hook did.
  bool EndBatch(absl::Time* next_tick);
  // Waits so long for tasks; false when stopped and empty.
  bool Take(absl::Duration wait, std::vector<Task>* tasks);
  bool HasNews() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !tasks_.empty();
  }
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || queued_weight_ < options_.max_queued_weight;
  }

  const Options options_;
  Hooks hooks_;  // set by Start

  absl::Mutex mutex_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  size_t queued_weight_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::unique_ptr<CoreWatchdog> watchdog_;  // outlives no step
  std::thread thread_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_CORE_THREAD_H_
