// Measures how long a thread waits for its medium, for example for syncs of a
// disk. A watchdog needs this to tell a waiting thread from one that hangs.
#ifndef KAMINO_ENGINE_PMEM_MEDIUM_WAIT_H_
#define KAMINO_ENGINE_PMEM_MEDIUM_WAIT_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kamino::engine {

// The waits of one thread. Thread-safe; times are those of MonotonicNow.
class MediumTime {
 public:
  void Begin(absl::Time now);
  void End(absl::Time now);

  bool waits() const;
  // The sum of all waits, including the one under way.
  absl::Duration total(absl::Time now) const;

 private:
  mutable absl::Mutex mutex_;
  // When the wait under way began; infinite: there is none.
  absl::Time began_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  absl::Duration ended_ ABSL_GUARDED_BY(mutex_);  // the sum of ended waits
};

// A scope in which its thread waits for a medium. Scopes may nest.
class MediumWait {
 public:
  MediumWait();
  ~MediumWait();
  MediumWait(const MediumWait&) = delete;
  MediumWait& operator=(const MediumWait&) = delete;

  // Counts this thread's waits in `time` from now on. Must not be called within
  // a wait.
  static void Watch(std::shared_ptr<MediumTime> time);

 private:
  const bool outer_;  // the outermost of its thread
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_MEDIUM_WAIT_H_
