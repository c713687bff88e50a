#include "client/timer.h"

#include <pthread.h>

#include <utility>

#include "base/clock.h"

namespace kamino::client {

Timer::Timer() : thread_([this] { Run(); }) {}

Timer::~Timer() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.Signal();
  }
  thread_.join();
}

void Timer::After(absl::Duration delay, std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  tasks_.emplace(MonotonicNow() + delay, std::move(task));
  changed_.Signal();
}

void Timer::Hurry() {
  absl::MutexLock lock(&mutex_);
  std::multimap<absl::Time, std::function<void()>> due;
  for (auto& [time, task] : tasks_) {
    due.emplace(absl::InfinitePast(), std::move(task));
  }
  tasks_ = std::move(due);
  changed_.Signal();
}

bool Timer::Due() const {
  return !tasks_.empty() &&
         (stopping_ || tasks_.begin()->first <= MonotonicNow());
}

void Timer::Run() {
  pthread_setname_np(pthread_self(), "timer");
  for (;;) {
    std::function<void()> task;
    {
      absl::MutexLock lock(&mutex_);
      while (!Due()) {
        if (stopping_) return;  // no task is left
        changed_.WaitWithTimeout(
            &mutex_, tasks_.empty() ? absl::InfiniteDuration()
                                    : tasks_.begin()->first - MonotonicNow());
      }
      task = std::move(tasks_.begin()->second);
      tasks_.erase(tasks_.begin());
    }
    task();
  }
}

}  // namespace kamino::client
