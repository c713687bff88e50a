#include "tests/engine/crash/thread_pool.h"

namespace kamino::engine::crash {

ThreadPool::ThreadPool(size_t threads) {
  for (size_t i = 0; i < threads; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->thread = std::thread(Work, workers_.back().get());
  }
}

ThreadPool::~ThreadPool() {
  for (auto& worker : workers_) {
    {
      std::lock_guard<std::mutex> lock(worker->mutex);
      worker->stop = true;
      worker->changed.notify_all();
    }
    worker->thread.join();
  }
}

void ThreadPool::Run(size_t thread, const std::function<void()>& work) {
  Worker& worker = *workers_[thread];
  std::unique_lock<std::mutex> lock(worker.mutex);
  worker.work = &work;
  worker.changed.notify_all();
  worker.changed.wait(lock, [&] { return worker.work == nullptr; });
}

void ThreadPool::Work(Worker* worker) {
  std::unique_lock<std::mutex> lock(worker->mutex);
  for (;;) {
    worker->changed.wait(
        lock, [&] { return worker->stop || worker->work != nullptr; });
    if (worker->stop) return;
    (*worker->work)();
    worker->work = nullptr;
    worker->changed.notify_all();
  }
}

}  // namespace kamino::engine::crash
