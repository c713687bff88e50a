#include "bench/harness/clock.h"

#include <algorithm>
#include <chrono>

namespace kamino::bench {

double NanosPerTick() {
  static const double ratio = [] {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    const uint64_t begin_ticks = Ticks();
    Clock::time_point end;
    do {
      end = Clock::now();
    } while (end - begin < std::chrono::milliseconds(20));
    const uint64_t ticks = Ticks() - begin_ticks;
    return std::chrono::duration<double, std::nano>(end - begin).count() /
           static_cast<double>(std::max<uint64_t>(ticks, 1));
  }();
  return ratio;
}

double TickOverheadNanos() {
  // The mean of many readings, as the counter may advance in steps.
  constexpr int kReadings = 10'000;
  const uint64_t begin = Ticks();
  for (int i = 1; i < kReadings; ++i) static_cast<void>(Ticks());
  const uint64_t ticks = Ticks() - begin;
  return static_cast<double>(ticks) / kReadings * NanosPerTick();
}

}  // namespace kamino::bench
