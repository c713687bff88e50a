// Runs a suite on several stores in turn, so that other load on the machine
// affects all of them alike.
#ifndef KAMINO_BENCH_ENGINE_RACE_H_
#define KAMINO_BENCH_ENGINE_RACE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bench/engine/pool_folder.h"
#include "bench/engine/stores.h"
#include "bench/engine/workload.h"

namespace kamino::bench {

// The name of Suite::MakeFloor in rows.
inline constexpr char kFloor[] = "floor";

struct RaceOptions {
  // Whether a cell is wanted, by "suite/" and Cell::Name().
  std::function<bool(const std::string&)> wanted;
  int rounds = 5;
  absl::Duration slice;
  // How long each store warms up before a cell, and before the first cell of a
  // suite: directories fill, and the system provides memory on first use.
  absl::Duration warm_up;
  absl::Duration first_warm_up;
  // Whether the suite's floor takes part, where it has one.
  bool floor = true;
  // Each cell is run with each of these added to a drain, in turns; of several
  // only with StoreSpec::drains_vary.
  std::vector<uint64_t> drains_ns = {0};
};

struct KindLatency {
  std::string kind;
  double p50_ns = 0;
  double p99_ns = 0;
};

// A measurement: one cell on one store, with one delay of drains.
struct Row {
  std::string suite;
  StoreSpec store;
  Cell cell;
  std::vector<double> rounds;  // transactions per second
  double p50_ns = 0;
  double p99_ns = 0;
  std::vector<KindLatency> kinds;  // those that occurred, where there are any
  double retries_per_tx = 0;
  std::optional<double> fences_per_tx;
  std::optional<double> lines_per_tx;
  // The part of these that was done beside transactions.
  std::optional<double> background_fences_per_tx;
  std::optional<double> background_lines_per_tx;
  uint64_t bytes_storage = 0;
  // The log's part of bytes_storage. Nothing: no log, or libpmemobj's.
  std::optional<double> bytes_log;
  std::optional<double> hit_rate;  // of the undo copy, in the timed slices
};

// Opens a store of each spec, fills them, runs each cell on each with each
// delay in `options.rounds` rounds, and adds a row for each. All stores are
// open at once, unless memory does not suffice: then kResourceExhausted, which
// says how much it takes. `progress` is told what is going on.
absl::Status RunTimed(const Suite& suite, const std::vector<StoreSpec>& specs,
                      PoolFolder& folder, const RaceOptions& options,
                      const std::function<void(const std::string&)>& progress,
                      std::vector<Row>* rows);

// Runs the cells once more on stores that count what they flush, without the
// clock, and completes the rows, of all delays alike. `suite` has the same
// cells over less data.
absl::Status RunCounted(const Suite& suite, const std::vector<StoreSpec>& specs,
                        PoolFolder& folder, const RaceOptions& options,
                        const std::function<void(const std::string&)>& progress,
                        std::vector<Row>* rows);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_RACE_H_
