#include "web/connections.h"

#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace kamino::web {
namespace {

// Minimum time before a connection may be cut off; a probe needs less.
constexpr absl::Duration kMoment = absl::Milliseconds(5);

}  // namespace

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
  // Also while stopping: a waiting connection has a descriptor to close.
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
      AwaitTurns();
      mutex_.Await(absl::Condition(this, &Connections::HasRoom));
      return;
    }
  }
  serve();  // ends at once
}

// Waits also for threads that have taken a connection but not registered it:
// they may all be about to serve silent clients.
void Connections::AwaitTurns() {
  while (!AllHaveTurn()) {
    const absl::Duration left =
        served_.empty() ? kMoment
                        : served_.front().since + kMoment - MonotonicNow();
    if (left <= absl::ZeroDuration()) {
      CutOffOldest();
      continue;
    }
    mutex_.AwaitWithTimeout(absl::Condition(this, &Connections::AllHaveTurn),
                            left);
  }
}

void Connections::CutOffOldest() {
  if (served_.empty()) return;
  // The thread that serves it notices the end and closes it.
  ::shutdown(served_.front().descriptor, SHUT_RDWR);
  served_.pop_front();
  ++ending_;
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
  all_->served_.push_back({descriptor, MonotonicNow()});
  if (all_->stopping_) all_->CutOffOldest();
}

Connections::Served::~Served() {
  absl::MutexLock lock(&all_->mutex_);
  auto& served = all_->served_;
  const auto found = std::find_if(served.begin(), served.end(),
                                  [this](const Connection& each) {
                                    return each.descriptor == descriptor_;
                                  });
  if (found != served.end()) {
    served.erase(found);
  } else {
    --all_->ending_;
  }
}

}  // namespace kamino::web
