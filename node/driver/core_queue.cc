#include "node/driver/core_queue.h"

#include <iterator>
#include <utility>

namespace kamino::node {

CoreQueue::Pushed CoreQueue::Queued() {
  return std::exchange(asleep_, false) ? Pushed::kWakes : Pushed::kQueued;
}

CoreQueue::Pushed CoreQueue::Push(Task task, bool may_wait) {
  absl::MutexLock lock(&mutex_);
  if (may_wait) mutex_.Await(absl::Condition(this, &CoreQueue::HasRoom));
  if (stopping_) return Pushed::kRefused;
  queued_weight_ += task.weight;
  tasks_.push_back(std::move(task));
  has_tasks_.store(true, std::memory_order_release);
  return Queued();
}

CoreQueue::Pushed CoreQueue::PushRead(absl::AnyInvocable<void()> read) {
  absl::MutexLock lock(&mutex_);
  if (stopping_) return Pushed::kRefused;
  reads_.push_back(std::move(read));
  has_reads_.store(true, std::memory_order_release);
  return Queued();
}

bool CoreQueue::IsFull() {
  absl::MutexLock lock(&mutex_);
  return !HasRoom();
}

bool CoreQueue::Stop() {
  absl::MutexLock lock(&mutex_);
  return !std::exchange(stopping_, true);
}

bool CoreQueue::Take(std::vector<Task>* tasks) {
  absl::MutexLock lock(&mutex_);
  tasks->swap(tasks_);
  queued_weight_ = 0;
  has_tasks_.store(false, std::memory_order_relaxed);
  return !tasks->empty();
}

bool CoreQueue::TakeReads() {
  if (has_reads_.load(std::memory_order_acquire)) {
    absl::MutexLock lock(&mutex_);
    std::move(reads_.begin(), reads_.end(), std::back_inserter(waiting_reads_));
    reads_.clear();
    has_reads_.store(false, std::memory_order_relaxed);
  }
  return !waiting_reads_.empty();
}

bool CoreQueue::RunRead() {
  waiting_reads_.front()();
  waiting_reads_.pop_front();
  return !waiting_reads_.empty();
}

bool CoreQueue::Sleep(bool busy) {
  absl::MutexLock lock(&mutex_);
  asleep_ = tasks_.empty() && reads_.empty() && waiting_reads_.empty() && !busy;
  return asleep_;
}

void CoreQueue::Awake() {
  absl::MutexLock lock(&mutex_);
  asleep_ = false;
}

}  // namespace kamino::node
