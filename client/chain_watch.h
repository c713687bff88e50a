// Follows view changes: keeps one WatchChain stream open to some node and
// passes each chain to the directory. A broken stream is opened again at
// another node. Calls do not depend on the watch, because refusals also name
// the chain; it saves them the refusal and the wait before the retry.
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

// Thread-safe. The directory and the timer must outlive it.
class ChainWatch {
 public:
  ChainWatch(Directory* directory, Timer* timer)
      : directory_(directory), timer_(timer) {}

  // Call once.
  void Start();
  // Ends the stream, waits for its end, and opens no other. Call it before the
  // timer ends, because the timer may hold a task of this watch.
  void Stop();

 private:
  class Stream;

  void Open();
  void OnChain(const kamino::v1::Chain& chain);
  // The stream will be deleted on return.
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
