#include "node/driver/core_thread.h"

#include <utility>

#include "absl/time/clock.h"

namespace kamino::node {

CoreThread::CoreThread(Options options) : options_(options) {}

CoreThread::~CoreThread() { Stop(); }

void CoreThread::Start(Hooks hooks) {
  hooks_ = std::move(hooks);
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
}

bool CoreThread::Take(absl::Time until, std::vector<Task>* tasks) {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithDeadline(absl::Condition(this, &CoreThread::HasNews), until);
  tasks->clear();
  tasks->swap(tasks_);
  queued_weight_ = 0;
  return !stopping_ || !tasks->empty();
}

bool CoreThread::EndBatch(absl::Time* next_tick) {
  // The wall clock only paces ticks here; a jump makes one early or late.
  const absl::Time now = absl::Now();
  if (now >= *next_tick || *next_tick > now + options_.tick_interval) {
    hooks_.tick();
    *next_tick = now + options_.tick_interval;
  }
  return hooks_.end_of_batch();
}

void CoreThread::Run() {
  std::vector<Task> tasks;
  absl::Time next_tick = absl::Now();
  bool more = false;
  while (Take(more ? absl::InfinitePast() : next_tick, &tasks)) {
    absl::Time batch_began = absl::Now();
    for (Task& task : tasks) {
      if (absl::Now() - batch_began >= options_.max_batch_time) {
        EndBatch(&next_tick);
        batch_began = absl::Now();
      }
      task.run();
    }
    more = EndBatch(&next_tick);
  }
}

}  // namespace kamino::node
