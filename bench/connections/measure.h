// Measures the cost of many connections for the nodes that take them, and for
// another client that works beside them.
#ifndef KAMINO_BENCH_CONNECTIONS_MEASURE_H_
#define KAMINO_BENCH_CONNECTIONS_MEASURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/connections/crowd.h"
#include "bench/connections/memory.h"
#include "bench/harness/program.h"
#include "bench/service/machine.h"

namespace kamino::bench::connections {

// Rates of the client beside, over its own connections.
struct Speed {
  double puts = 0;  // per second
  double gets = 0;
  // Processor time of all nodes, for each operation. That of a machine which is
  // busy otherwise can be compared as well.
  double put_micros = 0;
  double get_micros = 0;
};

// Memory and processor use at one moment.
struct Snapshot {
  std::vector<Memory> processes;  // in their order
  int64_t kernel = 0;             // of the machine, so of both ends
  int64_t heap = 0;  // bytes that are used of it, at the first node
  // Processor share of each process while the client beside does nothing.
  std::vector<double> idle_processor;
};

struct Round {
  size_t opened = 0;
  absl::Status refused;  // why not more; OK: they are as many as asked for
  absl::Duration opening;
  absl::Duration closing;
  size_t lost = 0;
  // Latency of the first call of a client that connects while the crowd is
  // connected, or the error with which the node refuses it.
  absl::StatusOr<absl::Duration> newcomer = absl::UnknownError("");
  Snapshot before, with, after;
  Speed speed_before, speed_with, speed_after;
};

struct MeasureOptions {
  std::vector<std::string> seeds;
  std::vector<service::Process> processes;
  std::string carrier;  // of the client beside
  int outstanding = 32;
  int rounds = 5;
  absl::Duration slice = absl::Seconds(1);  // of puts, and of gets
};

// `dialer`: by which newcomers come. In each round: before, the crowd comes,
// with it, it goes, after. Not OK: that could not be measured, or an operation
// of the client beside failed.
absl::StatusOr<std::vector<Round>> Measure(const MeasureOptions& options,
                                           Crowd* crowd, Dialer* dialer,
                                           const Progress& progress);

}  // namespace kamino::bench::connections

#endif  // KAMINO_BENCH_CONNECTIONS_MEASURE_H_
