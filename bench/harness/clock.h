// The processor's time stamp counter: a reading costs some ten nanoseconds and
// orders nothing.
#ifndef KAMINO_BENCH_HARNESS_CLOCK_H_
#define KAMINO_BENCH_HARNESS_CLOCK_H_

#include <cstdint>

namespace kamino::bench {

inline uint64_t Ticks() { return __builtin_ia32_rdtsc(); }

// Measured against the system's clock on the first call, which takes 20 ms.
double NanosPerTick();

// Cost of one reading, which is part of every latency.
double TickOverheadNanos();

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_HARNESS_CLOCK_H_
