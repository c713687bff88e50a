// Runs seeds, on as many processes as asked for; tells how to replay one that
// fails.
#include <chrono>
#include <cstdint>
#include <cstdio>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "glog/logging.h"
#include "tests/simulation/simulation.h"

ABSL_FLAG(uint64_t, first, 1, "the first seed");
ABSL_FLAG(uint64_t, seeds, 100, "how many seeds");
ABSL_FLAG(bool, trace, false, "tell what happens, to standard output");

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  google::InitGoogleLogging(argv[0]);
  FLAGS_minloglevel = google::GLOG_FATAL;
  const uint64_t first = absl::GetFlag(FLAGS_first);
  const uint64_t seeds = absl::GetFlag(FLAGS_seeds);
  std::FILE* const trace = absl::GetFlag(FLAGS_trace) ? stdout : nullptr;
  const auto start = std::chrono::steady_clock::now();
  absl::Duration simulated;
  uint64_t failed = 0, operations = 0, events = 0, faults = 0, views = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const auto result = kamino::simulation::Run(seed, trace);
    simulated += result.simulated;
    operations += result.operations;
    events += result.events;
    faults += result.faults;
    views += result.views;
    if (result.violation.ok()) continue;
    ++failed;
    std::printf("seed %lu: %s\n", static_cast<unsigned long>(seed),
                result.violation.ToString().c_str());
  }
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  std::printf(
      "%lu seeds, %lu failed; %.1f s for %.0f s simulated (%.0fx), %lu "
      "operations, %lu events, %lu faults, %lu views\n",
      (unsigned long)seeds, (unsigned long)failed, took,
      absl::ToDoubleSeconds(simulated), absl::ToDoubleSeconds(simulated) / took,
      (unsigned long)operations, (unsigned long)events, (unsigned long)faults,
      (unsigned long)views);
  return failed == 0 ? 0 : 1;
}
