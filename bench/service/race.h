// Measures subjects side by side: in turns, so that whatever else the machine
// does hits all alike.
#ifndef KAMINO_BENCH_SERVICE_RACE_H_
#define KAMINO_BENCH_SERVICE_RACE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bench/engine/tpcc_schema.h"
#include "bench/service/load.h"
#include "bench/service/machine.h"
#include "bench/service/subject.h"
#include "bench/service/workload.h"

namespace kamino::bench::service {

struct Racer {
  std::unique_ptr<Subject> subject;
  std::vector<Process> processes;
};

struct RaceOptions {
  std::vector<std::string> workloads;  // names of mixes
  std::vector<size_t> value_sizes;
  std::vector<int> outstanding;  // of closed loads
  // Open loads: percent of the subject's own best closed load.
  std::vector<int> loads;
  // More open loads: operations per second, the same for all.
  std::vector<double> rates;
  uint64_t objects = 100'000;
  // Fewer objects are kept where they would be more than this.
  uint64_t most_bytes = uint64_t{256} << 20;
  int rounds = 5;
  absl::Duration warm_up;
  absl::Duration slice;
  // One long slice at half load, of the first workload and size. Zero: none.
  absl::Duration endurance;
  Arrivals arrivals = Arrivals::kPoisson;
  // Scale of the workload of transactions, whose load is always closed.
  TpccScale tpcc = {1, 1000, 60};
};

enum class Mode { kClosed, kOpen, kEndurance };

struct Cell {
  Mode mode = Mode::kClosed;
  std::string workload;
  size_t value_size = 0;  // 0 of TPC-C's, as are objects
  uint64_t objects = 0;
  int outstanding = 0;  // kClosed
  int load = 0;         // else: percent; 0: of a rate that was given
  double rate = 0;      // that given
};

struct RoleTime {
  std::string role;
  double micros = 0;  // of processor time, for each operation
};

// The measurements of one slice.
struct Turn {
  double per_second = 0;
  double offered = 0;  // per second; 0 in closed loads
  // Nanoseconds.
  double p50 = 0, p99 = 0, p999 = 0, p9999 = 0, most = 0;
  double lateness_p50 = 0, lateness_p99 = 0;  // of open loads
  double mean = 0;
  double writes_p50 = 0, writes_mean = 0;  // 0: nothing was written
  uint64_t operations = 0;                 // that latencies are of
  std::vector<RoleTime> processor_time;    // the driver's first
  // Processors that the servers of all other subjects keep busy.
  double others = 0;
  // Processors kept busy outside the bench, including by kernel threads.
  double foreign = 0;
  double steal = 0;  // of all processors
  double idle = 0;
};

// One subject in one cell.
struct Row {
  Cell cell;
  std::string subject;
  std::vector<Turn> turns;
  uint64_t errors = 0;
  absl::Status first_error;
};

using Progress = std::function<void(const std::string&)>;

// How many objects there are, of that size.
uint64_t ObjectsOf(const RaceOptions& options, size_t value_size);

// Loads objects, and runs all cells: rows by cell, then in the order of
// `racers`; a racer that cannot run a workload has no row for it. An error of
// an operation is in its row. A returned error is the end of the race: a server
// is gone, or objects could not be loaded.
absl::Status RunRace(const std::vector<Racer>& racers,
                     const RaceOptions& options, const Progress& progress,
                     std::vector<Row>* rows);

}  // namespace kamino::bench::service

#endif  // KAMINO_BENCH_SERVICE_RACE_H_
