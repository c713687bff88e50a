// A disk whose syncs take long: preloaded (LD_PRELOAD), the library delays each
// fsync, fdatasync and msync of the process. The file that SLOW_SYNCS names
// holds the delay in nanoseconds and the number of delayed calls, 8 bytes each,
// little-endian.
//
// Reads and writes go through the page cache and are not delayed.
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace {

constexpr int64_t kSecond = 1000000000;

struct Control {
  int64_t delay_ns;
  int64_t delayed;  // calls
};
static_assert(sizeof(Control) == 16);

Control* Map() {
  static Control none = {};
  const char* name = getenv("SLOW_SYNCS");
  const int file = name == nullptr ? -1 : open(name, O_RDWR | O_CLOEXEC);
  if (file < 0) return &none;
  void* mapped = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE,
                      MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? &none : static_cast<Control*>(mapped);
}

void Wait() {
  static Control* const control = Map();
  const int64_t delay = __atomic_load_n(&control->delay_ns, __ATOMIC_RELAXED);
  if (delay <= 0) return;
  timespec left = {delay / kSecond, delay % kSecond};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
  __atomic_fetch_add(&control->delayed, 1, __ATOMIC_RELAXED);
}

}  // namespace

extern "C" {

int fsync(int file) {
  Wait();
  return static_cast<int>(syscall(SYS_fsync, file));
}

int fdatasync(int file) {
  Wait();
  return static_cast<int>(syscall(SYS_fdatasync, file));
}

int msync(void* begin, size_t length, int flags) {
  Wait();
  return static_cast<int>(syscall(SYS_msync, begin, length, flags));
}

}  // extern "C"
