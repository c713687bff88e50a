// The processor's time stamp counter. A reading waits for the instructions
// before it and lets none after it begin (rdtscp, lfence), so that no part of a
// measured operation is outside of its two readings. Stores that are on their
// way to memory are not waited for.
#ifndef KAMINO_BENCH_HARNESS_CLOCK_H_
#define KAMINO_BENCH_HARNESS_CLOCK_H_

#include <cstdint>

namespace kamino::bench {

inline uint64_t Ticks() {
  unsigned processor;
  const uint64_t ticks = __builtin_ia32_rdtscp(&processor);
  __builtin_ia32_lfence();
  return ticks;
}

// Measured against the system's clock on the first call, which takes 20 ms.
double NanosPerTick();

// Cost of one reading, which is part of every latency.
double TickOverheadNanos();

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_HARNESS_CLOCK_H_
