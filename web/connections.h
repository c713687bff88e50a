// Serves the connections of a listener by a few threads; if there are too many,
// the oldest connection is cut off.
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

  // For the accepting thread. Waits until the connection has a thread; if
  // necessary, cuts off the oldest one being served, after some milliseconds at
  // the earliest.
  void enqueue(std::function<void()> serve) override;
  // Cuts off all connections, including later ones.
  void CutOff();
  // The same, and waits until none is served. Idempotent.
  void shutdown() override;

  // Registers a connection as being served, during its lifetime.
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
  std::function<void()> Next();  // null: this object stops
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !waiting_.empty();
  }
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || waiting_.size() < max_waiting_;
  }
  // Whether all waiting connections have a thread, or will get one from a
  // cut-off.
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
  // Served and not cut off, oldest first.
  std::deque<Connection> served_ ABSL_GUARDED_BY(mutex_);
  // Cut off, with threads that have not finished.
  size_t ending_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_;
};

}  // namespace kamino::web

#endif  // KAMINO_WEB_CONNECTIONS_H_
