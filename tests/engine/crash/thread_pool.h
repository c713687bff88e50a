// Threads of which one runs at a time: a store can tell them apart, and yet a
// seed decides all.
#ifndef KAMINO_TESTS_ENGINE_CRASH_THREAD_POOL_H_
#define KAMINO_TESTS_ENGINE_CRASH_THREAD_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace kamino::engine::crash {

class ThreadPool {
 public:
  explicit ThreadPool(size_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Runs it on that thread, from 0 on, and waits for its end.
  void Run(size_t thread, const std::function<void()>& work);

 private:
  struct Worker {
    std::mutex mutex;
    std::condition_variable changed;
    const std::function<void()>* work = nullptr;
    bool stop = false;
    std::thread thread;
  };
  static void Work(Worker* worker);

  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_THREAD_POOL_H_
