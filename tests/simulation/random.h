// The only source of chance in a run.
#ifndef KAMINO_TESTS_SIMULATION_RANDOM_H_
#define KAMINO_TESTS_SIMULATION_RANDOM_H_

#include <cstdint>

#include "absl/time/time.h"

namespace kamino::simulation {

// splitmix64: the same on every machine and with every library.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

  // One of [0, n), n > 0.
  uint64_t Pick(uint64_t n) { return Next() % n; }
  bool OneIn(uint64_t n) { return Pick(n) == 0; }
  bool Percent(uint64_t percent) { return Pick(100) < percent; }

  // One of [least, most], in steps of a nanosecond.
  absl::Duration Between(absl::Duration least, absl::Duration most) {
    const int64_t range = absl::ToInt64Nanoseconds(most - least);
    return least + absl::Nanoseconds(Pick(static_cast<uint64_t>(range) + 1));
  }

  // Another source, so that one part's draws do not change those of others.
  Random Fork() { return Random(Next()); }

 private:
  uint64_t state_;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_RANDOM_H_
