// How long a thread waits for a medium, as for syncs of a disk: to a watcher it
// looks like one that hangs.
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
  // In all so far, the wait under way included.
  absl::Duration total(absl::Time now) const;

 private:
  mutable absl::Mutex mutex_;
  // Of the wait under way; infinite: there is none.
  absl::Time began_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  absl::Duration ended_ ABSL_GUARDED_BY(mutex_);  // of all others
};

// While one lives its thread waits for a medium. They nest.
class MediumWait {
 public:
  MediumWait();
  ~MediumWait();
  MediumWait(const MediumWait&) = delete;
  MediumWait& operator=(const MediumWait&) = delete;

  // From now on `time` counts the waits of this thread, and of no other. Not
  // while the thread waits.
  static void Watch(std::shared_ptr<MediumTime> time);

 private:
  const bool outer_;  // the outermost of its thread
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_MEDIUM_WAIT_H_
