// Tells ThreadSanitizer what Debian's Abseil, which is built without it, keeps
// to itself: that a lock orders what its holders do.
//
// Takes the place of absl::Mutex's and absl::CondVar's functions at link time
// (--wrap) in builds with --config=tsan.
#include <sanitizer/tsan_interface.h>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

// From ThreadSanitizer's runtime.
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);

namespace {

using absl::Condition;
using absl::CondVar;
using absl::Duration;
using absl::Mutex;
using absl::Time;

// A thread that releases a lock evaluates the conditions that other threads
// wait for. It reads their stacks and what the lock protects, which is correct,
// but the order of Releasing and Acquired does not show that.
class Within {
 public:
  Within() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~Within() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
};

void Acquired(Mutex* mutex) { __tsan_acquire(mutex); }
void Releasing(Mutex* mutex) { __tsan_release(mutex); }

}  // namespace

// NOLINTBEGIN: the linker makes these names of Abseil's.
#define KAMINO_MUTEX(result, name, ...)                                 \
  extern "C" result __real__ZN4absl7debian35Mutex##name(Mutex* mutex,   \
                                                        ##__VA_ARGS__); \
  extern "C" result __wrap__ZN4absl7debian35Mutex##name(Mutex* mutex,   \
                                                        ##__VA_ARGS__)
#define KAMINO_REAL(name, ...) \
  (Within(), __real__ZN4absl7debian35Mutex##name(mutex, ##__VA_ARGS__))

KAMINO_MUTEX(void, 4LockEv) {
  KAMINO_REAL(4LockEv);
  Acquired(mutex);
}

KAMINO_MUTEX(void, 6UnlockEv) {
  Releasing(mutex);
  KAMINO_REAL(6UnlockEv);
}

KAMINO_MUTEX(bool, 7TryLockEv) {
  const bool locked = KAMINO_REAL(7TryLockEv);
  if (locked) Acquired(mutex);
  return locked;
}

KAMINO_MUTEX(void, 10ReaderLockEv) {
  KAMINO_REAL(10ReaderLockEv);
  Acquired(mutex);
}

KAMINO_MUTEX(void, 12ReaderUnlockEv) {
  Releasing(mutex);
  KAMINO_REAL(12ReaderUnlockEv);
}

KAMINO_MUTEX(bool, 13ReaderTryLockEv) {
  const bool locked = KAMINO_REAL(13ReaderTryLockEv);
  if (locked) Acquired(mutex);
  return locked;
}

KAMINO_MUTEX(void, 8LockWhenERKNS0_9ConditionE, const Condition& condition) {
  KAMINO_REAL(8LockWhenERKNS0_9ConditionE, condition);
  Acquired(mutex);
}

KAMINO_MUTEX(void, 5AwaitERKNS0_9ConditionE, const Condition& condition) {
  Releasing(mutex);
  KAMINO_REAL(5AwaitERKNS0_9ConditionE, condition);
  Acquired(mutex);
}

KAMINO_MUTEX(bool, 16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE,
             const Condition& condition, Duration timeout) {
  Releasing(mutex);
  const bool met = KAMINO_REAL(
      16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE, condition, timeout);
  Acquired(mutex);
  return met;
}

KAMINO_MUTEX(bool, 17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE,
             const Condition& condition, Time deadline) {
  Releasing(mutex);
  const bool met = KAMINO_REAL(17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE,
                               condition, deadline);
  Acquired(mutex);
  return met;
}

#define KAMINO_CONDVAR(result, name, ...)                  \
  extern "C" result __real__ZN4absl7debian37CondVar##name( \
      CondVar* condvar, Mutex* mutex, ##__VA_ARGS__);      \
  extern "C" result __wrap__ZN4absl7debian37CondVar##name( \
      CondVar* condvar, Mutex* mutex, ##__VA_ARGS__)
#define KAMINO_REAL_CONDVAR(name, ...) \
  (Within(),                           \
   __real__ZN4absl7debian37CondVar##name(condvar, mutex, ##__VA_ARGS__))

KAMINO_CONDVAR(void, 4WaitEPNS0_5MutexE) {
  Releasing(mutex);
  KAMINO_REAL_CONDVAR(4WaitEPNS0_5MutexE);
  Acquired(mutex);
}

KAMINO_CONDVAR(bool, 15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE,
               Duration timeout) {
  Releasing(mutex);
  const bool late = KAMINO_REAL_CONDVAR(
      15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE, timeout);
  Acquired(mutex);
  return late;
}

KAMINO_CONDVAR(bool, 16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE, Time deadline) {
  Releasing(mutex);
  const bool late =
      KAMINO_REAL_CONDVAR(16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE, deadline);
  Acquired(mutex);
  return late;
}
// NOLINTEND
