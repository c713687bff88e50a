// The thread that owns a node's protocol core and heap. Others post tasks to
// it. The node's links live on it too, so that their messages need not pass
// between threads.
#ifndef KAMINO_NODE_DRIVER_CORE_THREAD_H_
#define KAMINO_NODE_DRIVER_CORE_THREAD_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "node/driver/core_executor.h"
#include "node/driver/core_queue.h"
#include "node/driver/core_watchdog.h"
#include "transport/loop/event_loop.h"

namespace kamino::node {

class CoreThread final : public CoreExecutor, private transport::Poller {
 public:
  struct Options {
    // Most time between ticks while there is work.
    absl::Duration tick_interval = absl::Milliseconds(5);
    // Interval of the ticks after kQuietTicks ticks without work: an idle node
    // uses little processor time.
    absl::Duration idle_tick_interval = absl::Milliseconds(25);
    // A batch is everything that was posted, or as much as fits this time.
    // Reads run for so long, too, before links have their turn.
    absl::Duration max_batch_time = absl::Milliseconds(2);
    // PostAndWait waits while tasks of this weight together are queued.
    size_t max_queued_weight = 64u << 20;
    // How long it polls links in shared memory or over verbs before it sleeps.
    absl::Duration spin = absl::Microseconds(20);
    CoreWatchdogOptions watchdog;
    std::function<absl::Time()> clock = MonotonicNow;
  };

  static constexpr int kQuietTicks = 40;

  // Watched if there is an activity. Error: the system lacks descriptors.
  static absl::StatusOr<std::unique_ptr<CoreThread>> Create(Options options);
  ~CoreThread() override;  // Stop()
  CoreThread(const CoreThread&) = delete;
  CoreThread& operator=(const CoreThread&) = delete;

  void Start(Hooks hooks) override;
  bool Post(absl::AnyInvocable<void()> task) override;
  bool PostRead(absl::AnyInvocable<void()> read) override;
  bool PostAndWait(absl::AnyInvocable<void()> task, size_t weight) override;
  bool RunNow(absl::FunctionRef<void()> task) override;
  // Runs what was posted before.
  void Stop() override;
  std::shared_ptr<transport::EventLoop> loop() override { return loop_; }

 private:
  CoreThread(Options options, std::shared_ptr<transport::EventLoop> loop);

  // --- The loop's thread.

  // Runs a batch, if there is work.
  bool Poll() override;
  bool Arm() override;
  void Disarm() override;
  void AwaitTick(absl::Duration wait);
  bool IsIdle() const { return quiet_ticks_ >= kQuietTicks; }
  // Called after each batch. `any`: the batch did work.
  void NoteWork(bool any);
  void RunReads();
  // Ends the step that began at `began`, ticks if a tick is due, and ends the
  // batch. Returns the time at which that was done.
  absl::Time EndBatch(absl::Time began, bool timer_fired);
  // Reports a step that took `took`, if that is long.
  void EndStep(absl::Duration took) {
    if (took > kLongStep && hooks_.stood_still != nullptr) {
      hooks_.stood_still(took - kLongStep);
    }
  }
  void BeginStep(absl::string_view what) {
    if (hooks_.activity != nullptr) hooks_.activity->BeginStep(what);
  }

  // Wakes the loop if it must. False: it was refused.
  bool WakeFor(CoreQueue::Pushed pushed);

  const Options options_;
  const std::shared_ptr<transport::EventLoop> loop_;

  CoreQueue queue_;

  // Set by Start; then the loop's thread only.
  Hooks hooks_;
  transport::EventLoop::Id tick_timer_ = 0;
  bool runs_ = false;     // between Start and Stop
  bool polling_ = false;  // in Poll, which never runs within itself
  bool timer_fired_ = false;
  int quiet_ticks_ = 0;  // since the last work
  absl::Time next_tick_ = absl::InfinitePast();
  bool more_ = false;  // the last batch has left work
  // The start of the first task of a batch that RunNow began; else infinite.
  absl::Time began_ = absl::InfiniteFuture();
  std::vector<CoreQueue::Task> batch_;

  bool started_ = false;                    // Start and Stop only
  std::unique_ptr<CoreWatchdog> watchdog_;  // outlives no step
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_CORE_THREAD_H_
