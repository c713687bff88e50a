#include "client/cli/wall_clock.h"

#include <time.h>

namespace kamino::client {

uint64_t UnixMillis() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 +
         static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

}  // namespace kamino::client
