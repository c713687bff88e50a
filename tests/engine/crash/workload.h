// Random transactions on one scheme, with every crash on the way explored.
#ifndef KAMINO_TESTS_ENGINE_CRASH_WORKLOAD_H_
#define KAMINO_TESTS_ENGINE_CRASH_WORKLOAD_H_

#include <cstdint>
#include <string>

#include "tests/engine/crash/explorer.h"
#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {

// For each seed: the default of `make crash`.
inline constexpr uint64_t kUsualImages = 6000;

struct RunOptions {
  // Steps of a store's life. There are two lives: a new store's, and that of an
  // image that one of the crashes left.
  int steps = 1500;
  uint64_t percent = 3;  // of the crash points while threads run
  // The approximate number of images, spread over the run: a crash point is
  // skipped while there were more than its share so far. 0: no bound.
  uint64_t most_images = 0;
  ExplorerOptions explorer;
};

struct RunResult {
  std::string failure;  // empty: everything was right
  ExplorerCounts counts;
  uint64_t committed = 0;
  uint64_t aborted = 0;
  uint64_t full = 0;       // refusals for lack of space
  uint64_t conflicts = 0;  // refusals for another's lock
};

// The same seed gives the same run.
RunResult Run(const Scheme& scheme, uint64_t seed, const RunOptions& options);

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_WORKLOAD_H_
