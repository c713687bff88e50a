// A lock for sections of about ten instructions, where a mutex costs more than
// the section.
#ifndef KAMINO_ENGINE_KAMINO_SPIN_LOCK_H_
#define KAMINO_ENGINE_KAMINO_SPIN_LOCK_H_

#include <atomic>

#include "absl/base/thread_annotations.h"
#include "engine/explore.h"

namespace kamino::engine {

class ABSL_LOCKABLE SpinLock {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    if (!locked_.exchange(true, std::memory_order_acquire)) return;
    LockSlow();
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() {
    locked_.store(false, std::memory_order_release);
  }

 private:
  void LockSlow() {
    constexpr int kSpins = 200;  // then the holder is likely preempted
    for (int i = 0;; ++i) {
      while (locked_.load(std::memory_order_relaxed)) {
        if (i++ < kSpins) {
          __builtin_ia32_pause();
        } else {
          YieldProcessor();
        }
      }
      if (!locked_.exchange(true, std::memory_order_acquire)) return;
    }
  }

  std::atomic<bool> locked_{false};
};

class ABSL_SCOPED_LOCKABLE SpinLockHolder {
 public:
  explicit SpinLockHolder(SpinLock* lock) ABSL_EXCLUSIVE_LOCK_FUNCTION(lock)
      : lock_(lock) {
    lock_->Lock();
  }
  ~SpinLockHolder() ABSL_UNLOCK_FUNCTION() { lock_->Unlock(); }
  SpinLockHolder(const SpinLockHolder&) = delete;
  SpinLockHolder& operator=(const SpinLockHolder&) = delete;

 private:
  SpinLock* const lock_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_SPIN_LOCK_H_
