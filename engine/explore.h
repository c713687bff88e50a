// Hooks for tests that explore the engine: they count the branches reached,
// decide which thread runs while another waits, and tell whether the engine
// checks itself. Only a test build (KAMINO_INSTRUMENTED, target
// //engine:instrumented) has them. In every other build Reached is empty, and
// Mutex, CondVar and YieldProcessor are absl's and the system's.
#ifndef KAMINO_ENGINE_EXPLORE_H_
#define KAMINO_ENGINE_EXPLORE_H_

#include <sched.h>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#ifdef KAMINO_INSTRUMENTED
#include <array>
#include <atomic>
#include <cstdint>
#endif

namespace kamino::engine {

// The engine's branches that a campaign must reach. KAMINO_BRANCHES(X) calls
// X(name) for each. Schemes outside the engine have enumerations of their own,
// which end with kCount, too.
#define KAMINO_BRANCHES(X)                                                  \
  /* What becomes of a range. */                                            \
  X(kRangeDeferred)      /* stored at the commit */                         \
  X(kRangeStoredEarlier) /* a Read or the like carried it out */            \
  X(kRangeByPointer)     /* flushed at the commit */                        \
  X(kRangeOfFreed)                                                          \
  X(kRangeKept)                                                             \
  X(kRangeNotKept) /* the transaction has too many bytes */                 \
  X(kRangeHashedAndStored)                                                  \
  X(kRangesOverlap)                                                         \
  X(kNewObjectDeferred)                                                     \
  X(kNewObjectZeroed)                                                       \
  /* How a transaction ends. */                                             \
  X(kCommitOfNothing)                                                       \
  X(kCommitDataFirst)                                                       \
  X(kCommitRefused)                                                         \
  X(kCommitSharesDrain) /* with the copies of the one before */             \
  X(kCommitAlone)                                                           \
  X(kCommitLaneTaken) /* by another thread's commit */                      \
  X(kAbortRestores)                                                         \
  X(kAbortOfNothing)                                                        \
  X(kPropagatedForLock)                                                     \
  X(kPropagatedByOther)                                                     \
  X(kHeldForRelease)                                                        \
  X(kReleasedBeforePropagated)                                              \
  X(kReleasedAfterPropagated)                                               \
  /* The log. */                                                            \
  X(kLogSkipsEnd) /* the record does not fit in front of it */              \
  X(kLogWraps)                                                              \
  X(kLogTailMoves)                                                          \
  X(kLogTailStops) /* at a record that is not done with */                  \
  X(kLogFull)                                                               \
  X(kLogSequenceKept)                                                       \
  X(kLogLargeRecord)                                                        \
  X(kRecordTooLarge)                                                        \
  /* Intents that stay. */                                                  \
  X(kIntentNew)                                                             \
  X(kIntentThere)                                                           \
  X(kIntentThereNotInFront)                                                 \
  X(kIntentReplaces)                                                        \
  X(kIntentSecondChance)                                                    \
  X(kIntentOfLockedStays)                                                   \
  X(kIntentNoRoom)                                                          \
  X(kIntentCleared)                                                         \
  X(kIntentClearedNone)                                                     \
  X(kIntentClearedReplaced) /* by another thread, without a drain so far */ \
  /* The undo copy. */                                                      \
  X(kCopyThere)                                                             \
  X(kCopyNotInFront)                                                        \
  X(kCopyMade)                                                              \
  X(kCopyEvicted)                                                           \
  X(kCopiesEvictedTogether)                                                 \
  X(kCopyAwaitsEviction) /* by another thread */                            \
  X(kCopySecondChance)                                                      \
  X(kCopyPinnedStays)                                                       \
  X(kCopyDropped)                                                           \
  X(kCopyOfNew)                                                             \
  X(kUndoCopyFull)                                                          \
  /* Recovery. */                                                           \
  X(kRecordOld)                                                             \
  X(kRecordMatches)                                                         \
  X(kRecordInDoubt)                                                         \
  X(kRecordMatchesAfterwards)                                               \
  X(kRestoredObject)                                                        \
  X(kRestoredNothing)                                                       \
  X(kRestoredFreed)

enum class Branch {
#define KAMINO_BRANCH(name) name,
  KAMINO_BRANCHES(KAMINO_BRANCH)
#undef KAMINO_BRANCH
      kCount
};

#ifdef KAMINO_INSTRUMENTED

inline constexpr bool kExplores = true;

template <typename Branches>
using BranchCounts =
    std::array<std::atomic<uint64_t>, static_cast<size_t>(Branches::kCount)>;

// Reached counts here; null: it does not count.
template <typename Branches>
inline std::atomic<BranchCounts<Branches>*> branch_counts{nullptr};

template <typename Branches>
inline void Reached(Branches branch) {
  BranchCounts<Branches>* const counts =
      branch_counts<Branches>.load(std::memory_order_relaxed);
  if (counts == nullptr) return;
  (*counts)[static_cast<size_t>(branch)].fetch_add(1,
                                                   std::memory_order_relaxed);
}

// Whether a transaction fails at its end if it stored something that it did not
// declare (kamino/intent_check.h). Off where a test damages memory on purpose:
// the check compares with the undo copy.
inline std::atomic<bool> check_intents{true};

// Called by a thread that waits for another one; null: the system decides.
inline std::atomic<void (*)()> yield_hook{nullptr};

inline void YieldProcessor() {
  void (*const hook)() = yield_hook.load(std::memory_order_relaxed);
  if (hook != nullptr) {
    hook();
  } else {
    sched_yield();
  }
}

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    if (yield_hook.load(std::memory_order_relaxed) == nullptr) {
      mutex_.Lock();
      return;
    }
    while (!mutex_.TryLock()) YieldProcessor();
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() { mutex_.AssertHeld(); }

 private:
  friend class CondVar;
  absl::Mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_->Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

// As absl's. With a yield hook, a wait times out after other threads had a
// turn, whatever the clock says.
class CondVar {
 public:
  // Whether the time is up.
  bool WaitWithTimeout(Mutex* mutex, absl::Duration timeout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (yield_hook.load(std::memory_order_relaxed) == nullptr) {
      return condition_.WaitWithTimeout(&mutex->mutex_, timeout);
    }
    mutex->Unlock();
    YieldProcessor();
    mutex->Lock();
    return true;
  }
  void SignalAll() { condition_.SignalAll(); }

 private:
  absl::CondVar condition_;
};

#else

inline constexpr bool kExplores = false;

template <typename Branches>
constexpr void Reached(Branches) {}
inline void YieldProcessor() { sched_yield(); }
using Mutex = absl::Mutex;
using MutexLock = absl::MutexLock;
using CondVar = absl::CondVar;

#endif  // KAMINO_INSTRUMENTED

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_EXPLORE_H_
