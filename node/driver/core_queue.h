// Tasks and reads that wait for a node's core thread.
#ifndef KAMINO_NODE_DRIVER_CORE_QUEUE_H_
#define KAMINO_NODE_DRIVER_CORE_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"

namespace kamino::node {

class CoreQueue {
 public:
  struct Task {
    absl::AnyInvocable<void()> run;
    size_t weight;
  };

  enum class Pushed {
    kRefused,  // stopped
    kQueued,
    kWakes,  // queued, and the caller must wake the core thread
  };

  // Push waits while tasks of `max_weight` together are queued.
  explicit CoreQueue(size_t max_weight) : max_weight_(max_weight) {}

  // --- Any thread.

  Pushed Push(Task task, bool may_wait) ABSL_LOCKS_EXCLUDED(mutex_);
  Pushed PushRead(absl::AnyInvocable<void()> read) ABSL_LOCKS_EXCLUDED(mutex_);
  // A hint, without the lock.
  bool has_tasks() const { return has_tasks_.load(std::memory_order_acquire); }
  bool IsFull() ABSL_LOCKS_EXCLUDED(mutex_);
  // From now on tasks and reads are refused. False: they were already.
  bool Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // --- The core thread.

  // Replaces `tasks`, which are empty. Returns whether there are any.
  bool Take(std::vector<Task>* tasks) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether there are reads to run.
  bool TakeReads() ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs the first of the reads that were taken. Returns whether there are
  // more.
  bool RunRead();
  // The thread is about to sleep: the next task wakes it. False: it must not
  // sleep, because of queued work or because it is `busy`.
  bool Sleep(bool busy) ABSL_LOCKS_EXCLUDED(mutex_);
  void Awake() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || queued_weight_ < max_weight_;
  }
  // The result for an item that was queued.
  Pushed Queued() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_weight_;
  absl::Mutex mutex_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  size_t queued_weight_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<absl::AnyInvocable<void()>> reads_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool asleep_ ABSL_GUARDED_BY(mutex_) = false;  // a task must wake the loop
  // Hints that there are some, to be read without the lock.
  std::atomic<bool> has_tasks_{false};
  std::atomic<bool> has_reads_{false};

  std::deque<absl::AnyInvocable<void()>> waiting_reads_;  // core thread
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_CORE_QUEUE_H_
