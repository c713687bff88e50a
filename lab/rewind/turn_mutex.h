// A mutex for one thread that holds it long and repeatedly, beside threads that
// need it briefly. With an ordinary mutex these would starve: the thread that
// unlocks takes it again before a sleeping waiter has woken up.
#ifndef KAMINO_LAB_REWIND_TURN_MUTEX_H_
#define KAMINO_LAB_REWIND_TURN_MUTEX_H_

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "engine/explore.h"

namespace kamino::engine {

class ABSL_LOCKABLE TurnMutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    asked_.fetch_add(1, std::memory_order_relaxed);
    mutex_.Lock();
    had_.store(had_.load(std::memory_order_relaxed) + 1,
               std::memory_order_relaxed);
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }

  // Call before Lock, without holding the mutex. If other threads wait for it,
  // one of them has held it when this returns.
  void LetOthers() const ABSL_LOCKS_EXCLUDED(this) {
    const uint64_t had = had_.load(std::memory_order_relaxed);
    while (asked_.load(std::memory_order_relaxed) > had &&
           had_.load(std::memory_order_relaxed) == had) {
      YieldProcessor();
    }
  }

 private:
  Mutex mutex_;
  // Calls of Lock that have begun, and that have taken the mutex. Only the
  // thread that holds the mutex changes had_.
  std::atomic<uint64_t> asked_{0};
  std::atomic<uint64_t> had_{0};
};

class ABSL_SCOPED_LOCKABLE TurnLock {
 public:
  explicit TurnLock(TurnMutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_->Lock();
  }
  ~TurnLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  TurnLock(const TurnLock&) = delete;
  TurnLock& operator=(const TurnLock&) = delete;

 private:
  TurnMutex* const mutex_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_TURN_MUTEX_H_
