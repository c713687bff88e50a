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
#include "absl/time/time.h"
#include "httplib.h"

namespace kamino::web {

// Thread-safe.
class Connections final : public httplib::TaskQueue {
 public:
  Connections(size_t threads, size_t max_waiting);
  ~Connections() override { shutdown(); }

  // Of the thread that accepts. Waits until this one has a thread, if need be
  // by cutting off the oldest that is served, though none before it had a
  // moment.
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
  // Whether all that wait have a thread, or will by what was cut off.
  bool AllHaveTurn() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || waiting_.size() <= idle_ + ending_;
  }
  void AwaitTurns() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CutOffOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Connection {
    int descriptor;
    absl::Time since;
  };

  const size_t max_waiting_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;  // threads
  // That are served and were not cut off, the oldest first.
  std::deque<Connection> served_ ABSL_GUARDED_BY(mutex_);
  // That were, and whose threads are not done with them.
  size_t ending_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_;
};

}  // namespace kamino::web

#endif  // KAMINO_WEB_CONNECTIONS_H_
