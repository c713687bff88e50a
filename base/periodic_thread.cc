#include "base/periodic_thread.h"

#include <pthread.h>

#include <utility>

namespace kamino {

PeriodicThread::PeriodicThread(const char* name, absl::Duration interval,
                               std::function<void()> call)
    : interval_(interval), call_(std::move(call)), thread_([this] { Run(); }) {
  pthread_setname_np(thread_.native_handle(), name);
}

PeriodicThread::~PeriodicThread() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

void PeriodicThread::Run() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&ending_), interval_)) {
        return;
      }
    }
    call_();
  }
}

}  // namespace kamino
