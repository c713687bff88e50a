#include "web/connections.h"

#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace kamino::web {

Connections::Connections(size_t threads, size_t max_waiting)
    : max_waiting_(max_waiting) {
  for (size_t i = 0; i < threads; ++i) {
    threads_.push_back(std::thread([this] { Work(); }));
  }
}

void Connections::Work() {
  pthread_setname_np(pthread_self(), "web");
  while (std::function<void()> serve = Next()) serve();
}

std::function<void()> Connections::Next() {
  absl::MutexLock lock(&mutex_);
  ++idle_;
  mutex_.Await(absl::Condition(this, &Connections::HasWork));
  --idle_;
  // Also when stopping: what waits has a descriptor that it closes.
  if (waiting_.empty()) return nullptr;
  std::function<void()> serve = std::move(waiting_.front());
  waiting_.pop_front();
  return serve;
}

void Connections::enqueue(std::function<void()> serve) {
  {
    absl::MutexLock lock(&mutex_);
    if (!stopping_) {
      waiting_.push_back(std::move(serve));
      if (waiting_.size() > idle_) CutOffOldest();
      mutex_.Await(absl::Condition(this, &Connections::HasRoom));
      return;
    }
  }
  serve();  // which ends at once
}

void Connections::CutOffOldest() {
  if (served_.empty()) return;
  // Whoever serves it sees the end of it, and closes it.
  ::shutdown(served_.front(), SHUT_RDWR);
  served_.pop_front();
}

void Connections::CutOff() {
  absl::MutexLock lock(&mutex_);
  stopping_ = true;
  while (!served_.empty()) CutOffOldest();
}

void Connections::shutdown() {
  CutOff();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

Connections::Served::Served(Connections* all, int descriptor)
    : all_(all), descriptor_(descriptor) {
  absl::MutexLock lock(&all_->mutex_);
  all_->served_.push_back(descriptor);
  if (all_->stopping_) all_->CutOffOldest();
}

Connections::Served::~Served() {
  absl::MutexLock lock(&all_->mutex_);
  auto& served = all_->served_;
  served.erase(std::remove(served.begin(), served.end(), descriptor_),
               served.end());
}

}  // namespace kamino::web
