// The thread that owns a node's protocol core and heap. Others post tasks to
// it; it runs them in batches, so that one acknowledgement or one chain
// operation can stand for many.
#ifndef KAMINO_HEAD_CORE_THREAD_H_
#define KAMINO_HEAD_CORE_THREAD_H_

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kamino::head {

class CoreThread {
 public:
  struct Hooks {
    // At least every `tick_interval`.
    std::function<void()> tick;
    // After each batch of tasks and ticks: all that were posted, or as many as
    // `max_batch_time` sufficed for. Returns whether there is more to do
    // even if no task comes.
    std::function<bool()> end_of_batch;
  };

  struct Options {
    absl::Duration tick_interval = absl::Milliseconds(5);
    absl::Duration max_batch_time = absl::Milliseconds(2);
    // PostAndWait waits while tasks of this weight together are queued.
    size_t max_queued_weight = 64u << 20;
  };

  CoreThread(Options options, Hooks hooks);
  ~CoreThread();  // Stop()
  CoreThread(const CoreThread&) = delete;
  CoreThread& operator=(const CoreThread&) = delete;

  // Starts running tasks; those posted before wait for it.
  void Start();

  // Any thread. False when stopped; the task is then destroyed, not run.
  bool Post(std::function<void()> task);

  // Any thread but this one: waits until there is room for `weight`.
  bool PostAndWait(std::function<void()> task, size_t weight);

  // Any thread but this one. Runs what was posted before, then joins.
  void Stop();

 private:
  struct Task {
    std::function<void()> run;
    size_t weight;
  };

  void Run();
  // Ticks if it is time to; returns what the hook did.
  bool EndBatch(absl::Time* next_tick);
  // Waits for tasks until `until`; false when stopped and empty.
  bool Take(absl::Time until, std::vector<Task>* tasks);
  bool HasNews() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !tasks_.empty();
  }
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || queued_weight_ < options_.max_queued_weight;
  }

  const Options options_;
  const Hooks hooks_;

  absl::Mutex mutex_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  size_t queued_weight_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_CORE_THREAD_H_
