// Abseil's waits with a timeout, on the monotonic clock.
//
// Mutex, CondVar and Notification wait until a time of the wall clock; so do
// gRPC's timers, which use CondVar. If the wall clock is set back by an hour, a
// wait of 50 ms takes an hour: a node sends no heartbeats, and its calls never
// time out. Abseil (of 2022; later ones do not need this) lets programs define
// how a thread waits: both symbols below are weak in its library.
//
// Abseil still passes a time of the wall clock, which its callers computed a
// moment ago. It is converted to a duration from now.
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "absl/base/config.h"
#include "absl/base/internal/thread_identity.h"
#include "absl/synchronization/internal/create_thread_identity.h"
#include "absl/synchronization/internal/kernel_timeout.h"
#include "absl/synchronization/internal/per_thread_sem.h"
#include "absl/synchronization/internal/waiter.h"

#if ABSL_WAITER_MODE != ABSL_WAITER_MODE_FUTEX
#error "this Abseil waits in another way; see whether it needs this file"
#endif

namespace kamino {
namespace {

using absl::base_internal::ThreadIdentity;
using absl::synchronization_internal::KernelTimeout;

constexpr int64_t kSecond = 1000000000;  // ns

// A semaphore, in the place of Abseil's own, which Abseil sets to zero and does
// not touch again.
std::atomic<int32_t>* CountOf(ThreadIdentity* identity) {
  static_assert(sizeof(std::atomic<int32_t>) <=
                sizeof(ThreadIdentity::WaiterState));
  return reinterpret_cast<std::atomic<int32_t>*>(identity->waiter_state.data);
}

int64_t Nanos(const timespec& time) {
  return int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

int64_t NanosOf(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return Nanos(now);
}

// Converts a wall-clock time to CLOCK_MONOTONIC.
timespec MonotonicOf(const timespec& wall) {
  const int64_t time =
      NanosOf(CLOCK_MONOTONIC) + (Nanos(wall) - NanosOf(CLOCK_REALTIME));
  if (time <= 0) return {0, 0};
  return {static_cast<time_t>(time / kSecond),
          static_cast<long>(time % kSecond)};
}

bool TakeOne(std::atomic<int32_t>* count) {
  int32_t now = count->load(std::memory_order_relaxed);
  while (now > 0) {
    if (count->compare_exchange_weak(now, now - 1, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

// False: `until`, if not null, has passed.
bool Wait(std::atomic<int32_t>* count, const timespec* until) {
  while (!TakeOne(count)) {
    const long woken =
        syscall(SYS_futex, count, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0,
                until, nullptr, FUTEX_BITSET_MATCH_ANY);
    if (woken < 0 && errno == ETIMEDOUT) return TakeOne(count);
  }
  return true;
}

}  // namespace
}  // namespace kamino

extern "C" {

void ABSL_INTERNAL_C_SYMBOL(AbslInternalPerThreadSemPost)(
    absl::base_internal::ThreadIdentity* identity) {
  std::atomic<int32_t>* count = kamino::CountOf(identity);
  if (count->fetch_add(1, std::memory_order_release) == 0) {
    syscall(SYS_futex, count, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, nullptr,
            nullptr, 0);
  }
}

bool ABSL_INTERNAL_C_SYMBOL(AbslInternalPerThreadSemWait)(
    absl::synchronization_internal::KernelTimeout timeout) {
  absl::base_internal::ThreadIdentity* identity =
      absl::synchronization_internal::GetOrCreateCurrentThreadIdentity();
  timespec until;
  const bool ends = timeout.has_timeout();
  if (ends) until = kamino::MonotonicOf(timeout.MakeAbsTimespec());
  return kamino::Wait(kamino::CountOf(identity), ends ? &until : nullptr);
}

}  // extern "C"
