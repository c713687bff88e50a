// A thread that does what a store leaves to do beside transactions.
#ifndef KAMINO_ENGINE_BASELINES_BACKGROUND_WORKER_H_
#define KAMINO_ENGINE_BASELINES_BACKGROUND_WORKER_H_

#include <functional>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace kamino::engine {

class BackgroundWorker {
 public:
  // Calls `work` every `period`, as BackgroundWork, and at once again while it
  // says that more is left. `name` is the thread's, of 15 letters at most.
  BackgroundWorker(const char* name, absl::Duration period,
                   std::function<bool()> work);
  // Ends the thread, once `work` has returned.
  ~BackgroundWorker();
  BackgroundWorker(const BackgroundWorker&) = delete;
  BackgroundWorker& operator=(const BackgroundWorker&) = delete;

 private:
  void Run(const char* name, absl::Duration period);

  const std::function<bool()> work_;
  absl::Notification stopping_;
  std::thread thread_;
};

// The worker of one store, for programs. A store has
//   static constexpr char kWorkerName[];  // the thread's
//   bool WorkBeside();  // does some work; whether more is to be done at once
// and does the necessary part of it in transactions: a store without a worker
// goes on, slower.
template <typename Store>
class StoreWorker {
 public:
  // The store must outlive this.
  explicit StoreWorker(Store* store)
      : worker_(Store::kWorkerName, absl::Milliseconds(1),
                [store] { return store->WorkBeside(); }) {}

 private:
  BackgroundWorker worker_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_BACKGROUND_WORKER_H_
