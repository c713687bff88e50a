// Runs a trace on the machine by one of the methods. Deterministic: the same
// trace and options give the same times, whatever they are run on.
#ifndef KAMINO_LAB_CONTROLLER_SIMULATION_H_
#define KAMINO_LAB_CONTROLLER_SIMULATION_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "lab/controller/controller.h"
#include "lab/controller/core.h"
#include "lab/controller/machine.h"
#include "lab/controller/methods.h"
#include "lab/controller/trace.h"

namespace kamino::bench::controller {

struct WarmBytes {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

struct RunOptions {
  Method method = Method::kWrap;
  Machine machine;
  // Between arrivals of a thread's pieces of work; threads take turns within
  // it. 0: as fast as they can.
  Time interval = 0;
  // In the shared cache from the beginning.
  std::vector<WarmBytes> warm;
  // Looks after each event whether the controller's invariants hold
  // (wrap_controller.h), Property 1 and that of home. For small traces.
  bool check = false;
  // Called whenever a version of a line may leave the victim cache.
  VictimCache::Released released;
};

struct RunResult {
  std::vector<Piece> pieces;  // thread by thread
  Time responded = 0;         // all had been
  Time completed = 0;         // and their values were at home
  CoreCounts cores;           // sums
  ControllerCounts controller;

  // Averages over the pieces, in microseconds.
  double MeanResponse() const;
  double MeanCompletion() const;
  // Pieces per second until all had been responded to, or completed.
  double ResponsesPerSecond() const;
  double CompletionsPerSecond() const;
};

// kInvalidArgument: as CheckTrace. kInternal: an invariant does not hold.
absl::StatusOr<RunResult> Simulate(const Trace& trace,
                                   const RunOptions& options);

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_SIMULATION_H_
