// Where the nanoseconds of a transaction go: the same workload in stages, each
// of which does more than the one before (StagedStore), on stores and in rounds
// as for any other measurement.
#ifndef KAMINO_BENCH_ENGINE_BREAKDOWN_H_
#define KAMINO_BENCH_ENGINE_BREAKDOWN_H_

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/engine/pool_folder.h"
#include "bench/engine/race.h"
#include "bench/engine/staged_store.h"
#include "bench/engine/stores.h"
#include "bench/engine/workload.h"

namespace kamino::bench {

struct BreakdownRow {
  std::string suite;  // the cell's
  StoreSpec store;
  Cell cell;
  // Time that each stage adds to a transaction; a difference of medians, so it
  // may be below 0. Nothing: contained in the next stage.
  std::array<std::optional<double>, kStages.size()> nanos;

  double total() const;
};

// Whether a cell can be taken apart.
bool CanBreakDown(const Cell& cell);

// Does so for every cell of the suite that can be and that options.wanted, by
// "breakdown/" and the cell's name, on a store of each spec, and adds the rows.
absl::Status RunBreakdown(
    const Suite& suite, const std::vector<StoreSpec>& specs, PoolFolder& folder,
    const RaceOptions& options,
    const std::function<void(const std::string&)>& progress,
    std::vector<BreakdownRow>* rows);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_BREAKDOWN_H_
