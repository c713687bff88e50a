#include "node/driver/core_thread.h"

#include <pthread.h>

#include <utility>

#include "base/clock.h"

namespace kamino::node {

CoreThread::CoreThread(Options options) : options_(std::move(options)) {}

CoreThread::~CoreThread() { Stop(); }

void CoreThread::Start(Hooks hooks) {
  hooks_ = std::move(hooks);
  if (hooks_.activity != nullptr) {
    watchdog_ =
        std::make_unique<CoreWatchdog>(options_.watchdog, hooks_.activity);
  }
  thread_ = std::thread([this] { Run(); });
}

bool CoreThread::Post(absl::AnyInvocable<void()> task) {
  absl::MutexLock lock(&mutex_);
  if (stopping_) return false;
  tasks_.push_back({std::move(task), 0});
  return true;
}

bool CoreThread::PostAndWait(absl::AnyInvocable<void()> task, size_t weight) {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &CoreThread::HasRoom));
  if (stopping_) return false;
  tasks_.push_back({std::move(task), weight});
  queued_weight_ += weight;
  return true;
}

void CoreThread::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
  watchdog_.reset();
}

bool CoreThread::Take(absl::Duration wait, std::vector<Task>* tasks) {
  if (hooks_.activity != nullptr) hooks_.activity->Idle();
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(this, &CoreThread::HasNews), wait);
  tasks->clear();
  tasks->swap(tasks_);
  queued_weight_ = 0;
  return !stopping_ || !tasks->empty();
}

bool CoreThread::EndBatch(absl::Time* next_tick) {
  const absl::Time now = MonotonicNow();
  if (now >= *next_tick) {
    BeginStep("a tick");
    hooks_.tick();
    *next_tick = now + options_.tick_interval;
  }
  BeginStep("the end of a batch");
  return hooks_.end_of_batch();
}

void CoreThread::Run() {
  pthread_setname_np(pthread_self(), "core");
  std::vector<Task> tasks;
  absl::Time next_tick = MonotonicNow();
  bool more = false;
  while (
      Take(more ? absl::ZeroDuration() : next_tick - MonotonicNow(), &tasks)) {
    absl::Time batch_began = MonotonicNow();
    for (Task& task : tasks) {
      if (&task != &tasks.front() &&
          MonotonicNow() - batch_began >= options_.max_batch_time) {
        EndBatch(&next_tick);
        batch_began = MonotonicNow();
      }
      BeginStep("a task");
      task.run();
    }
    more = EndBatch(&next_tick);
  }
}

}  // namespace kamino::node
