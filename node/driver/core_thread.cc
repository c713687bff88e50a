#include "node/driver/core_thread.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::node {

using transport::EventLoop;

CoreThread::CoreThread(Options options, std::shared_ptr<EventLoop> loop)
    : options_(std::move(options)),
      loop_(std::move(loop)),
      queue_(options_.max_queued_weight) {}

absl::StatusOr<std::unique_ptr<CoreThread>> CoreThread::Create(
    Options options) {
  ASSIGN_OR_RETURN(auto loop, EventLoop::Start(options.spin, "core"));
  return absl::WrapUnique(new CoreThread(std::move(options), std::move(loop)));
}

CoreThread::~CoreThread() {
  Stop();
  loop_->Stop();
}

void CoreThread::Start(Hooks hooks) {
  CHECK(!std::exchange(started_, true));
  hooks_ = std::move(hooks);
  if (hooks_.activity != nullptr) {
    watchdog_ =
        std::make_unique<CoreWatchdog>(options_.watchdog, hooks_.activity);
  }
  loop_->RunSync([this] {
    runs_ = true;
    loop_->AddPoller(this, /*spins=*/false);
    AwaitTick(absl::ZeroDuration());
  });
}

bool CoreThread::WakeFor(CoreQueue::Pushed pushed) {
  // Not while holding the queue's lock, which the loop takes first.
  if (pushed == CoreQueue::Pushed::kWakes) loop_->Wake();
  return pushed != CoreQueue::Pushed::kRefused;
}

bool CoreThread::Post(absl::AnyInvocable<void()> task) {
  return WakeFor(queue_.Push({std::move(task), 0}, /*may_wait=*/false));
}

bool CoreThread::PostRead(absl::AnyInvocable<void()> read) {
  return WakeFor(queue_.PushRead(std::move(read)));
}

bool CoreThread::PostAndWait(absl::AnyInvocable<void()> task, size_t weight) {
  if (!loop_->OnLoopThread()) {
    return WakeFor(queue_.Push({std::move(task), weight}, /*may_wait=*/true));
  }
  // The thread that runs the tasks cannot wait for itself: it runs them if many
  // links have messages.
  if (runs_ && queue_.IsFull()) Poll();
  return WakeFor(queue_.Push({std::move(task), weight}, /*may_wait=*/false));
}

bool CoreThread::RunNow(absl::FunctionRef<void()> task) {
  if (!loop_->OnLoopThread() || !runs_ || polling_ || queue_.has_tasks()) {
    return false;
  }
  const absl::Time begins = options_.clock();
  began_ = std::min(began_, begins);
  more_ = true;  // the end of the batch
  polling_ = true;
  BeginStep("a task");
  task();
  polling_ = false;
  const absl::Time ended = options_.clock();
  EndStep(ended - begins);
  // Not before: that may close the link whose message the task examines.
  if (ended - began_ >= options_.max_batch_time) Poll();
  return true;
}

void CoreThread::Stop() {
  if (!queue_.Stop()) return;
  if (started_) {
    loop_->RunSync([this] {
      // Tasks that ran at once still need an end of their batch.
      while (queue_.has_tasks() || queue_.TakeReads() ||
             began_ != absl::InfiniteFuture()) {
        Poll();
      }
      runs_ = false;
      loop_->RemovePoller(this);
      if (tick_timer_ != 0) loop_->CancelTimer(tick_timer_);
    });
  }
  watchdog_.reset();
}

// --- The loop's thread.

void CoreThread::AwaitTick(absl::Duration wait) {
  tick_timer_ = loop_->StartTimer(wait, [this] {
    timer_fired_ = true;
    AwaitTick(IsIdle() ? options_.idle_tick_interval : options_.tick_interval);
  });
}

void CoreThread::NoteWork(bool any) {
  if (!any) {
    quiet_ticks_ = std::min(quiet_ticks_ + 1, kQuietTicks);
    return;
  }
  if (IsIdle()) {
    loop_->CancelTimer(tick_timer_);
    AwaitTick(options_.tick_interval);
  }
  quiet_ticks_ = 0;
}

bool CoreThread::Arm() { return queue_.Sleep(more_ || timer_fired_); }

void CoreThread::Disarm() { queue_.Awake(); }

void CoreThread::RunReads() {
  const absl::Time end = options_.clock() + options_.max_batch_time;
  do {
    BeginStep("a read");
  } while (queue_.RunRead() && options_.clock() < end);
}

absl::Time CoreThread::EndBatch(absl::Time began, bool timer_fired) {
  // Not only by the timer, which waits while there is much to do; but only by
  // it, even if early, when there is nothing to do.
  const absl::Duration early =
      timer_fired ? options_.tick_interval / 2 : absl::ZeroDuration();
  const absl::Time now = options_.clock();
  EndStep(now - began);
  if (now + early >= next_tick_) {
    BeginStep("a tick");
    hooks_.tick();
    next_tick_ = now + options_.tick_interval;
  }
  BeginStep("the end of a batch");
  more_ = hooks_.end_of_batch();
  const absl::Time ended = options_.clock();
  EndStep(ended - now);
  return ended;
}

bool CoreThread::Poll() {
  CHECK(!polling_) << "a task, a tick or the end of a batch waits for tasks";
  const bool has_tasks = queue_.has_tasks() && queue_.Take(&batch_);
  const bool timer_fired = std::exchange(timer_fired_, false);
  const bool has_reads = queue_.TakeReads();
  const bool has_work = has_tasks || has_reads || more_;
  if (!timer_fired && !has_work) return false;
  polling_ = true;
  began_ = absl::InfiniteFuture();
  absl::Time began = options_.clock();
  for (CoreQueue::Task& task : batch_) {
    if (&task != &batch_.front() &&
        options_.clock() - began >= options_.max_batch_time) {
      began = EndBatch(began, /*timer_fired=*/false);
    }
    BeginStep("a task");
    task.run();
  }
  batch_.clear();
  if (has_reads) RunReads();
  EndBatch(began, timer_fired);
  NoteWork(has_work || more_);
  if (hooks_.activity != nullptr) hooks_.activity->Idle();
  polling_ = false;
  return true;
}

}  // namespace kamino::node
