// Transactions by chance on one scheme, with every crash on the way explored.
#ifndef KAMINO_TESTS_ENGINE_CRASH_WORKLOAD_H_
#define KAMINO_TESTS_ENGINE_CRASH_WORKLOAD_H_

#include <cstdint>
#include <string>

#include "tests/engine/crash/explorer.h"
#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {

// Of a seed: what `make crash` takes.
inline constexpr uint64_t kUsualImages = 6000;

struct RunOptions {
  // Of a store's life. Two lives: a new store's, and that of what one of the
  // crashes left of it.
  int steps = 1500;
  uint64_t percent = 3;  // of the crash points while threads run
  // About so many images, spread over the run: a crash point is passed by while
  // there were more than its share so far. 0: as many as there are.
  uint64_t most_images = 0;
  ExplorerOptions explorer;
};

struct RunResult {
  std::string failure;  // empty: everything was right
  ExplorerCounts counts;
  uint64_t committed = 0;
  uint64_t aborted = 0;
  uint64_t full = 0;       // refusals for want of space
  uint64_t conflicts = 0;  // refusals for another's lock
};

// The same seed does the same.
RunResult Run(const Scheme& scheme, uint64_t seed, const RunOptions& options);

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_WORKLOAD_H_
