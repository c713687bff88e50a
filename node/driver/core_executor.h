// Runs a node's protocol core: tasks one at a time, in batches, so that one
// acknowledgement or one log entry can stand for many. A thread in a process
// (node/driver/core_thread.h); in tests a scheduler that decides the order.
#ifndef KAMINO_NODE_DRIVER_CORE_EXECUTOR_H_
#define KAMINO_NODE_DRIVER_CORE_EXECUTOR_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "node/driver/core_activity.h"

namespace kamino::transport {
class EventLoop;
}

namespace kamino::node {

class CoreExecutor {
 public:
  // A step (tasks up to a tick, or a tick with the end of its batch) of this
  // length or less is ordinary work.
  static constexpr absl::Duration kLongStep = absl::Milliseconds(100);

  struct Hooks {
    // Called periodically, often enough for replica::ChainCore::OnTick.
    std::function<void()> tick;
    // Called after each batch of tasks and ticks. Returns whether there is more
    // to do even without new tasks.
    std::function<bool()> end_of_batch;
    // Notified when a task, a tick or the end of a batch begins; may be null.
    // The task itself notes what it does.
    CoreActivity* activity = nullptr;
    // Called after a step that took longer than kLongStep, before the next
    // tick, with the excess. A step does not include idle time before it. May
    // be null.
    std::function<void(absl::Duration)> stood_still = nullptr;
  };

  virtual ~CoreExecutor() = default;

  // Starts running tasks; those posted before wait for it. Once.
  virtual void Start(Hooks hooks) = 0;

  // Any thread. False when stopped; the task is then destroyed, not run.
  virtual bool Post(absl::AnyInvocable<void()> task) = 0;

  // The same for a read. Clients may ask for thousands, also large ones: reads
  // run in order, and after some milliseconds of them links and tasks have
  // their turn.
  virtual bool PostRead(absl::AnyInvocable<void()> read) {
    return Post(std::move(read));
  }

  // Any thread: may wait until there is room for `weight`. On the thread that
  // runs tasks it may run queued tasks instead, so do not call it within a
  // task.
  virtual bool PostAndWait(absl::AnyInvocable<void()> task, size_t weight) = 0;

  // Runs the task at once, as the next one of the current batch, and returns
  // true. Works on the thread that runs tasks, not within one, and while none
  // is queued. Otherwise returns false, and the task has not run. If the batch
  // has taken long enough it ends before this returns, with a tick if one is
  // due: that may close links, including the caller's.
  virtual bool RunNow(absl::FunctionRef<void()> task) {
    (void)task;
    return false;
  }

  // Any thread but the one that runs tasks. After it returns, no task or hook
  // runs any more. Idempotent.
  virtual void Stop() = 0;

  // The loop whose thread runs tasks and hooks, so that links may live there
  // too; it outlives Stop. Null: there is none.
  virtual std::shared_ptr<transport::EventLoop> loop() { return nullptr; }
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_CORE_EXECUTOR_H_
