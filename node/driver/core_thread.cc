#include "node/driver/core_thread.h"

#include <utility>

#include "absl/memory/memory.h"
#include "base/clock.h"
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
    loop_->AddPoller(this, /*spins=*/false);
    tick_due_ = true;
    AwaitTick();
  });
}

bool CoreThread::Push(Task task) {
  if (stopping_) return false;
  queued_weight_ += task.weight;
  tasks_.push_back(std::move(task));
  has_tasks_.store(true, std::memory_order_release);
  if (std::exchange(asleep_, false)) loop_->Wake();
  return true;
}

bool CoreThread::Post(absl::AnyInvocable<void()> task) {
  absl::MutexLock lock(&mutex_);
  return Push({std::move(task), 0});
}

bool CoreThread::PostAndWait(absl::AnyInvocable<void()> task, size_t weight) {
  absl::MutexLock lock(&mutex_);
  // Who runs the tasks cannot wait for it; its links have each their turn.
  if (!loop_->OnLoopThread()) {
    mutex_.Await(absl::Condition(this, &CoreThread::HasRoom));
  }
  return Push({std::move(task), weight});
}

void CoreThread::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    if (std::exchange(stopping_, true)) return;
  }
  if (started_) {
    loop_->RunSync([this] {
      while (has_tasks_.load(std::memory_order_acquire)) Poll();
      loop_->RemovePoller(this);
      if (tick_timer_ != 0) loop_->CancelTimer(tick_timer_);
    });
  }
  watchdog_.reset();
}

// --- The loop's thread.

void CoreThread::AwaitTick() {
  tick_timer_ = loop_->StartTimer(options_.tick_interval, [this] {
    tick_due_ = true;
    AwaitTick();
  });
}

bool CoreThread::Arm() {
  absl::MutexLock lock(&mutex_);
  asleep_ = tasks_.empty() && !more_ && !tick_due_;
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

void CoreThread::EndBatch() {
  if (std::exchange(tick_due_, false)) {
    BeginStep("a tick");
    hooks_.tick();
  }
  BeginStep("the end of a batch");
  more_ = hooks_.end_of_batch();
}

bool CoreThread::Poll() {
  const bool has_tasks =
      has_tasks_.load(std::memory_order_acquire) && Take(&batch_);
  if (!has_tasks && !more_ && !tick_due_) return false;
  absl::Time began = MonotonicNow();
  for (Task& task : batch_) {
    if (&task != &batch_.front() &&
        MonotonicNow() - began >= options_.max_batch_time) {
      EndBatch();
      began = MonotonicNow();
    }
    BeginStep("a task");
    task.run();
  }
  batch_.clear();
  EndBatch();
  if (hooks_.activity != nullptr) hooks_.activity->Idle();
  return true;
}

}  // namespace kamino::node
