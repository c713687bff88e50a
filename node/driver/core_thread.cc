#include "node/driver/core_thread.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/memory/memory.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::node {

using transport::EventLoop;

CoreThread::CoreThread(Options options, std::shared_ptr<EventLoop> loop)
    : options_(std::move(options)), loop_(std::move(loop)) {}

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

bool CoreThread::Push(Task task, bool may_wait) {
  bool wake;
  {
    absl::MutexLock lock(&mutex_);
    if (may_wait) mutex_.Await(absl::Condition(this, &CoreThread::HasRoom));
    if (stopping_) return false;
    queued_weight_ += task.weight;
    tasks_.push_back(std::move(task));
    has_tasks_.store(true, std::memory_order_release);
    wake = std::exchange(asleep_, false);
  }
  // Not while holding the lock, which the loop takes first.
  if (wake) loop_->Wake();
  return true;
}

bool CoreThread::Post(absl::AnyInvocable<void()> task) {
  return Push({std::move(task), 0}, /*may_wait=*/false);
}

bool CoreThread::PostRead(absl::AnyInvocable<void()> read) {
  bool wake;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return false;
    reads_.push_back(std::move(read));
    has_reads_.store(true, std::memory_order_release);
    wake = std::exchange(asleep_, false);
  }
  if (wake) loop_->Wake();
  return true;
}

bool CoreThread::PostAndWait(absl::AnyInvocable<void()> task, size_t weight) {
  if (!loop_->OnLoopThread()) {
    return Push({std::move(task), weight}, /*may_wait=*/true);
  }
  // The thread that runs the tasks cannot wait for itself: it runs them if many
  // links have messages.
  if (runs_ && IsFull()) Poll();
  return Push({std::move(task), weight}, /*may_wait=*/false);
}

bool CoreThread::RunNow(absl::FunctionRef<void()> task) {
  if (!loop_->OnLoopThread() || !runs_ || polling_ ||
      has_tasks_.load(std::memory_order_acquire)) {
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

bool CoreThread::IsFull() {
  absl::MutexLock lock(&mutex_);
  return !HasRoom();
}

void CoreThread::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    if (std::exchange(stopping_, true)) return;
  }
  if (started_) {
    loop_->RunSync([this] {
      // Tasks that ran at once still need an end of their batch.
      while (has_tasks_.load(std::memory_order_acquire) || TakeReads() ||
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

bool CoreThread::Arm() {
  absl::MutexLock lock(&mutex_);
  asleep_ = tasks_.empty() && reads_.empty() && waiting_reads_.empty() &&
            !more_ && !timer_fired_;
  return asleep_;
}

void CoreThread::Disarm() {
  absl::MutexLock lock(&mutex_);
  asleep_ = false;
}

bool CoreThread::Take(std::vector<Task>* tasks) {
  absl::MutexLock lock(&mutex_);
  tasks->swap(tasks_);
  queued_weight_ = 0;
  has_tasks_.store(false, std::memory_order_relaxed);
  return !tasks->empty();
}

bool CoreThread::TakeReads() {
  if (has_reads_.load(std::memory_order_acquire)) {
    absl::MutexLock lock(&mutex_);
    std::move(reads_.begin(), reads_.end(), std::back_inserter(waiting_reads_));
    reads_.clear();
    has_reads_.store(false, std::memory_order_relaxed);
  }
  return !waiting_reads_.empty();
}

void CoreThread::RunReads() {
  const absl::Time end = options_.clock() + options_.max_batch_time;
  do {
    BeginStep("a read");
    waiting_reads_.front()();
    waiting_reads_.pop_front();
  } while (!waiting_reads_.empty() && options_.clock() < end);
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
  const bool has_tasks =
      has_tasks_.load(std::memory_order_acquire) && Take(&batch_);
  const bool timer_fired = std::exchange(timer_fired_, false);
  const bool has_reads = TakeReads();
  const bool has_work = has_tasks || has_reads || more_;
  if (!timer_fired && !has_work) return false;
  polling_ = true;
  began_ = absl::InfiniteFuture();
  absl::Time began = options_.clock();
  for (Task& task : batch_) {
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
