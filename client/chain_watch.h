// Follows the chain's views as they change: keeps one WatchChain stream open to
// some node and tells the directory of every chain that comes. A stream that
// breaks is opened anew at another node. Calls do not depend on it: they also
// learn from refusals; the watch spares them the refusal, and the rest of the
// time they would wait before they try again.
#ifndef KAMINO_CLIENT_CHAIN_WATCH_H_
#define KAMINO_CLIENT_CHAIN_WATCH_H_

#include <cstddef>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/directory.h"
#include "client/timer.h"

namespace kamino::client {

// Thread-safe. Uses a directory and a timer that outlive it.
class ChainWatch {
 public:
  ChainWatch(Directory* directory, Timer* timer)
      : directory_(directory), timer_(timer) {}

  // Once.
  void Start();
  // Ends the stream and waits for its end; opens no other. To be called before
  // the end of the timer, which may hold a task of this watch.
  void Stop();

 private:
  class Stream;

  void Open();
  void OnChain(const kamino::v1::Chain& chain);
  // The stream is to be deleted; then it is.
  void OnEnding();
  void OnEnd(const std::string& address, const absl::Status& status);
  bool Idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stream_ == nullptr && !ending_;
  }

  Directory* const directory_;
  Timer* const timer_;

  absl::Mutex mutex_;
  Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;  // owns itself
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  size_t next_node_ ABSL_GUARDED_BY(mutex_) = 0;
  int failures_ ABSL_GUARDED_BY(mutex_) = 0;  // since the last chain
  absl::BitGen random_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CHAIN_WATCH_H_
