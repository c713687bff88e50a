// A wall clock that can be set while a process runs: preloaded (LD_PRELOAD), it
// moves CLOCK_REALTIME by as many nanoseconds as the file that STEPPED_CLOCK
// names says (8 bytes, little-endian), and no other clock.
//
// Waits that are told a time of that clock end as with a kernel whose clock was
// set: each looks every few milliseconds at what the time is by now. So one
// that was begun before the clock was set back takes longer by as much.
//
// There are these waits: those of Abseil (and so of gRPC) are futexes, made by
// syscall(); the C library's own are pthread_cond_timedwait and its kin.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr int64_t kSecond = 1000000000;
constexpr int64_t kSlice = 5000000;  // ns between two looks at the clock

const volatile int64_t* MapOffset() {
  static const int64_t kNone = 0;
  const char* name = getenv("STEPPED_CLOCK");
  const int file = name == nullptr ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return &kNone;
  void* mapped = mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? &kNone : static_cast<int64_t*>(mapped);
}

int64_t Offset() {
  static const volatile int64_t* const offset = MapOffset();
  return *offset;
}

// A system call as it is.
long Call(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

int64_t Nanos(const timespec& time) {
  return time.tv_sec * kSecond + time.tv_nsec;
}

timespec Timespec(int64_t nanos) { return {nanos / kSecond, nanos % kSecond}; }

bool IsWall(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

int64_t RealNow() {
  timespec now;
  Call(SYS_clock_gettime, CLOCK_REALTIME, reinterpret_cast<long>(&now), 0, 0, 0,
       0);
  return Nanos(now);
}

// The real time until which to wait for `until` of the moved clock before
// looking again; 0: it has come.
int64_t NextLook(int64_t until) {
  const int64_t now = RealNow();
  const int64_t left = until - (now + Offset());
  if (left <= 0) return 0;
  return now + (left < kSlice ? left : kSlice);
}

// Waits by `wait`, which is told a real time and returns whether it was reached
// with nothing else having happened.
template <typename Wait>
void WaitInSlices(const timespec* until, Wait wait) {
  for (;;) {
    int64_t next = NextLook(Nanos(*until));
    const bool last = next == 0;
    if (last) next = RealNow();
    const timespec slice = Timespec(next);
    if (!wait(&slice) || last) return;
  }
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) {
  const long done =
      Call(SYS_clock_gettime, clock, reinterpret_cast<long>(time), 0, 0, 0, 0);
  if (done == 0 && IsWall(clock)) {
    *time = Timespec(Nanos(*time) + Offset());
  }
  return static_cast<int>(done);
}

int gettimeofday(timeval* time, void*) {
  const timespec now = Timespec(RealNow() + Offset());
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* result) {
  const time_t now = (RealNow() + Offset()) / kSecond;
  if (result != nullptr) *result = now;
  return now;
}

long syscall(long number, ...) {
  va_list arguments;
  va_start(arguments, number);
  long a[6];
  for (long& argument : a) argument = va_arg(arguments, long);
  va_end(arguments);
  const auto* until = reinterpret_cast<const timespec*>(a[3]);
  const int operation = static_cast<int>(a[1]);
  if (number != SYS_futex || until == nullptr ||
      (operation & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET ||
      !(operation & FUTEX_CLOCK_REALTIME)) {
    return Call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
  long result = 0;
  WaitInSlices(until, [&](const timespec* slice) {
    result = Call(number, a[0], a[1], a[2], reinterpret_cast<long>(slice), a[4],
                  a[5]);
    return result < 0 && errno == ETIMEDOUT;
  });
  return result;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  // Slices of CLOCK_REALTIME do not fit a condition of another clock; no
  // program here has one.
  int result = 0;
  WaitInSlices(until, [&](const timespec* slice) {
    result = pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, slice);
    return result == ETIMEDOUT;
  });
  return result;
}

int sem_timedwait(sem_t* semaphore, const timespec* until) {
  int result = 0;
  WaitInSlices(until, [&](const timespec* slice) {
    result = sem_clockwait(semaphore, CLOCK_REALTIME, slice);
    return result < 0 && errno == ETIMEDOUT;
  });
  return result;
}

}  // extern "C"
