// Runs seeds over all processors, and tells how to replay one that fails.
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/chain_mode.h"
#include "base/parse_flags.h"
#include "glog/logging.h"
#include "proto/version.h"
#include "tests/faults/fault.h"
#include "tests/faults/names.h"
#include "tests/simulation/simulation.h"

ABSL_FLAG(uint64_t, first, 1, "the first seed");
ABSL_FLAG(uint64_t, seeds, 1, "how many seeds");
ABSL_FLAG(int, jobs, 0, "processes at a time; 0: as many as processors");
ABSL_FLAG(std::string, mode, "kamino",
          "of all chains: kamino, traditional or images");
ABSL_FLAG(bool, trace, false, "tell everything that happens, in one process");
ABSL_FLAG(bool, logs, false, "what nodes and managers log, too");
ABSL_FLAG(std::string, fault, "",
          "planted in every run; those of the product's sources only in "
          "simulate_faulty");

namespace {

constexpr int kExitUsage = 2;

}  // namespace

namespace kamino::simulation {
namespace {

// The results of a process, in one write.
struct Counts {
  uint64_t seeds = 0;
  uint64_t failed = 0;
  double simulated = 0;  // seconds
  double busy = 0;       // seconds of a processor
  uint64_t operations = 0;
  uint64_t acknowledged = 0;
  uint64_t faults = 0;
  bool met = false;  // what is planted
  uint64_t views = 0;
  Tally runs;  // how many had a kind at all
};

void Add(const Counts& from, Counts* to) {
  to->seeds += from.seeds;
  to->failed += from.failed;
  to->simulated += from.simulated;
  to->busy += from.busy;
  to->operations += from.operations;
  to->acknowledged += from.acknowledged;
  to->faults += from.faults;
  to->met |= from.met;
  to->views += from.views;
  to->runs.Add(from.runs);
}

std::string HowToReplay(uint64_t seed) {
  const std::string mode = absl::GetFlag(FLAGS_mode);
  const std::string fault = absl::GetFlag(FLAGS_fault);
  return absl::StrCat(
      "\n  replay: make simulate SEEDS=1 FIRST=", seed, " TRACE=1",
      mode == "kamino" ? "" : " MODE=", mode == "kamino" ? "" : mode,
      fault.empty() ? "" : " FAULT=", fault, "\n");
}

Counts RunOne(uint64_t seed, std::FILE* trace) {
  const std::string mode = absl::GetFlag(FLAGS_mode);
  const RunResult result = RunSeed(seed, trace, *ChainModeFrom(mode));
  Counts counts;
  counts.seeds = 1;
  counts.simulated = absl::ToDoubleSeconds(result.simulated);
  counts.operations = result.operations;
  counts.acknowledged = result.acknowledged;
  counts.faults = result.faults;
  counts.views = result.views;
  counts.runs.AddRun(result.tally);
  if (result.violation.ok()) return counts;
  counts.failed = 1;
  const std::string text = absl::StrCat(
      "seed ", seed, ": ", result.violation.ToString(), HowToReplay(seed));
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  return counts;
}

// Runs every `step`-th seed from `first` on. `at` is the current one.
Counts RunSeeds(uint64_t first, uint64_t end, uint64_t step, std::FILE* trace,
                uint64_t* at) {
  Counts counts;
  for (uint64_t seed = first; seed < end; seed += step) {
    *at = seed;
    Add(RunOne(seed, trace), &counts);
  }
  counts.met = faults::PlantedFaultWasMet();
  timespec busy;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &busy);
  counts.busy = busy.tv_sec + busy.tv_nsec * 1e-9;
  return counts;
}

// One share in each process. False: a process died.
bool RunParallel(uint64_t first, uint64_t end, int jobs, Counts* counts) {
  std::vector<std::pair<pid_t, int>> children;
  // The current seed of each process, to name it if the process dies.
  void* const shared =
      mmap(nullptr, jobs * sizeof(uint64_t), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS, /*fd=*/-1, /*offset=*/0);
  PCHECK(shared != MAP_FAILED);
  uint64_t* const at = static_cast<uint64_t*>(shared);
  for (int job = 0; job < jobs; ++job) {
    at[job] = first + job;
    int report[2];
    PCHECK(pipe(report) == 0);
    std::fflush(nullptr);
    const pid_t child = fork();
    PCHECK(child >= 0);
    if (child == 0) {
      const Counts mine = RunSeeds(first + job, end, jobs, nullptr, at + job);
      _exit(write(report[1], &mine, sizeof(mine)) == sizeof(mine) ? 0 : 1);
    }
    close(report[1]);
    children.push_back({child, report[0]});
  }
  bool all = true;
  for (int job = 0; job < jobs; ++job) {
    const auto& [child, report] = children[job];
    Counts mine;
    if (read(report, &mine, sizeof(mine)) == sizeof(mine)) {
      Add(mine, counts);
    } else {
      all = false;
      absl::PrintF("seed %d: process %d of the simulator died of it%s", at[job],
                   child, HowToReplay(at[job]));
    }
    close(report);
    waitpid(child, nullptr, 0);
  }
  return all;
}

std::string RunsWith(const Tally& runs) {
  std::string text;
  for (size_t kind = 0; kind < kKindNames.size(); ++kind) {
    absl::StrAppend(&text, kind == 0 ? "runs with " : ", ", kKindNames[kind],
                    ": ", runs.of(static_cast<Kind>(kind)));
  }
  return text;
}

int Main() {
  const uint64_t first = absl::GetFlag(FLAGS_first);
  const uint64_t end = first + absl::GetFlag(FLAGS_seeds);
  const auto start = std::chrono::steady_clock::now();
  Counts counts;
  bool all = true;
  if (absl::GetFlag(FLAGS_trace)) {
    uint64_t at;
    counts = RunSeeds(first, end, 1, stdout, &at);
  } else {
    int jobs = absl::GetFlag(FLAGS_jobs);
    if (jobs <= 0) jobs = static_cast<int>(std::thread::hardware_concurrency());
    all = RunParallel(first, end, std::max(jobs, 1), &counts);
  }
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  absl::PrintF(
      "%d seeds, %d failed; %.0f s simulated in %.1f s, %.0f times real time "
      "for each processor; %d operations (%d mutations acknowledged), %d "
      "faults, %d views\n",
      counts.seeds, counts.failed, counts.simulated, took,
      counts.busy > 0 ? counts.simulated / counts.busy : 0.0, counts.operations,
      counts.acknowledged, counts.faults, counts.views);
  absl::PrintF("%s\n", RunsWith(counts.runs));
  const std::string fault = absl::GetFlag(FLAGS_fault);
  if (!fault.empty() && !counts.met) {
    absl::FPrintF(stderr, "no run came by a fault named \"%s\"\n", fault);
    return kExitUsage;
  }
  return all && counts.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace kamino::simulation

int main(int argc, char** argv) {
  kamino::ParseFlags("simulate_main",
                     "Runs seeds of the simulator. Example:\n"
                     "  simulate_main --seeds=1000 --first=1",
                     kamino::kVersion, argc, argv);
  google::InitGoogleLogging(argv[0]);
  FLAGS_minloglevel =
      absl::GetFlag(FLAGS_logs) ? google::GLOG_INFO : google::GLOG_FATAL;
  FLAGS_logtostderr = absl::GetFlag(FLAGS_logs);
  const std::string fault = absl::GetFlag(FLAGS_fault);
  if (!fault.empty() && !kamino::faults::FaultKnown(fault)) {
    absl::FPrintF(
        stderr, "simulate_main: no fault is named \"%s\"; see tests/faults/\n",
        fault);
    return kExitUsage;
  }
  const std::string mode = absl::GetFlag(FLAGS_mode);
  if (!kamino::ChainModeFrom(mode).has_value()) {
    absl::FPrintF(stderr, "simulate_main: --mode is %s, not \"%s\"\n",
                  kamino::kChainModeNames, mode);
    return kExitUsage;
  }
  kamino::faults::PlantFault(fault);
  return kamino::simulation::Main();
}
