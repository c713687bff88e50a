#include "engine/baselines/background_worker.h"

#include <pthread.h>

#include <utility>

#include "engine/pmem/background_work.h"

namespace kamino::engine {

BackgroundWorker::BackgroundWorker(const char* name, absl::Duration period,
                                   std::function<bool()> work)
    : work_(std::move(work)),
      thread_([this, name, period] { Run(name, period); }) {}

BackgroundWorker::~BackgroundWorker() {
  stopping_.Notify();
  thread_.join();
}

void BackgroundWorker::Run(const char* name, absl::Duration period) {
  pthread_setname_np(pthread_self(), name);
  const BackgroundWork background;
  bool more = false;
  while (!stopping_.WaitForNotificationWithTimeout(more ? absl::ZeroDuration()
                                                        : period)) {
    more = work_();
  }
}

}  // namespace kamino::engine
