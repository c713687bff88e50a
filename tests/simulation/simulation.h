// One run: a seed decides the cluster, the faults, and every random choice.
#ifndef KAMINO_TESTS_SIMULATION_SIMULATION_H_
#define KAMINO_TESTS_SIMULATION_SIMULATION_H_

#include <cstdint>
#include <cstdio>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/chain_mode.h"
#include "tests/simulation/tally.h"

namespace kamino::simulation {

struct RunResult {
  absl::Status violation;  // OK: all invariants held
  absl::Duration simulated;
  uint64_t digest = 0;  // equal for equal runs
  uint64_t events = 0;
  uint64_t operations = 0;    // of clients, with an answer
  uint64_t acknowledged = 0;  // of these, mutations
  uint64_t faults = 0;
  uint64_t views = 0;
  Tally tally;
};

// `trace`: where to write events; null: nowhere. All nodes use `mode`.
RunResult RunSeed(uint64_t seed, std::FILE* trace,
                  ChainMode mode = ChainMode::kKamino);

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_SIMULATION_H_
