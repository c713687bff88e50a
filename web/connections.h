// The connections of a listener, each with one of a few threads while it is
// served; the oldest gives way to new ones when there are too many.
#ifndef KAMINO_WEB_CONNECTIONS_H_
#define KAMINO_WEB_CONNECTIONS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "httplib.h"

namespace kamino::web {

// Thread-safe.
class Connections final : public httplib::TaskQueue {
 public:
  Connections(size_t threads, size_t max_waiting);
  ~Connections() override { shutdown(); }

  // Of the thread that accepts. While too many wait it cuts off the oldest that
  // is served, and waits itself.
  void enqueue(std::function<void()> serve) override;
  // All of them, also those to come.
  void CutOff();
  // The same, and returns when none is served any more. Idempotent.
  void shutdown() override;

  // What is served, while this is there.
  class Served {
   public:
    Served(Connections* all, int descriptor);
    ~Served();

   private:
    Connections* const all_;
    const int descriptor_;
  };

 private:
  void Work();
  std::function<void()> Next();  // null: this stops
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !waiting_.empty();
  }
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || waiting_.size() < max_waiting_;
  }
  void CutOffOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_waiting_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;  // threads
  // Descriptors that are served and were not cut off, the oldest first.
  std::deque<int> served_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace kamino::web

#endif  // KAMINO_WEB_CONNECTIONS_H_
