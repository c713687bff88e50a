// bench-engine: measures every atomicity scheme on the same work.
//
// Exit codes: 0, 1 when it cannot go on, 2 for bad flags, 128 and the signal
// after SIGINT or SIGTERM. Pool files are gone in every case.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bench/engine/breakdown.h"
#include "bench/engine/map_race.h"
#include "bench/engine/micro.h"
#include "bench/engine/pool_folder.h"
#include "bench/engine/race.h"
#include "bench/engine/results.h"
#include "bench/engine/tpcc.h"
#include "bench/engine/ycsb.h"
#include "bench/harness/clock.h"
#include "bench/harness/program.h"

namespace kamino::bench {
namespace {

constexpr int kMaxRounds = 1000;
constexpr uint64_t kMaxDelayNanos = 100'000;

struct Options {
  std::string only;
  std::vector<std::string> schemes;
  std::string folder = "/dev/shm";
  int rounds = 5;
  int slice_ms = 0;  // 0: as the scale has it
  bool least_data = false;
  bool timed_only = false;
  bool list = false;
  std::vector<uint64_t> drains_ns = {0};
  uint64_t line_ns = 0;
};

std::vector<std::string> SchemeNames() {
  std::vector<std::string> names;
  for (const StoreSpec& spec : AllStores()) names.push_back(spec.scheme);
  for (const StoreSpec& spec : MoreStores()) names.push_back(spec.scheme);
  for (std::string& name : AllMaps()) names.push_back(std::move(name));
  names.push_back(kFloor);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void AddFlags(CLI::App* flags, Options* options) {
  flags
      ->add_option("--only", options->only,
                   "Measure what this regular expression matches a part of: "
                   "suite/workload/distribution/threads/value size.")
      ->check(CheckRegex);
  flags
      ->add_option("--schemes", options->schemes,
                   "Measure these schemes only, separated by commas.")
      ->delimiter(',')
      ->check(CLI::IsMember(SchemeNames()));
  flags
      ->add_option("--folder", options->folder,
                   "Where pool files are put, in a fresh folder that is "
                   "removed.")
      ->capture_default_str();
  flags
      ->add_option("--rounds", options->rounds,
                   "Rounds over all schemes for each measurement.")
      ->check(CLI::Range(1, kMaxRounds))
      ->capture_default_str();
  flags
      ->add_option("--slice_ms", options->slice_ms,
                   "Of each scheme in a round (default: 60, quick: 5).")
      ->check(CLI::Range(1, 60'000));
  flags->add_flag("--least_data", options->least_data,
                  "Less data yet than the quick scale's: all is in the cache.");
  flags->add_flag("--timed_only", options->timed_only,
                  "Count no fences and lines, which is a pass of its own.");
  flags->add_flag("--list", options->list,
                  "Print what would be measured, and exit.");
  flags
      ->add_option("--pmem_delay_drain_ns", options->drains_ns,
                   "How much longer each drain takes, as if the memory were "
                   "slower; of several, separated by commas, each in turns. "
                   "libpmemobj can be slowed with libpmem_shim.so preloaded "
                   "alone, and is left out without.")
      ->delimiter(',')
      ->check(CLI::Range(uint64_t{0}, kMaxDelayNanos))
      ->capture_default_str();
  flags
      ->add_option("--pmem_delay_line_ns", options->line_ns,
                   "The same of each cache line that is written back.")
      ->check(CLI::Range(uint64_t{0}, kMaxDelayNanos))
      ->capture_default_str();
}

// A suite at the scale to measure and at that to count, and its stores.
struct Entry {
  std::unique_ptr<Suite> timed;
  std::unique_ptr<Suite> counted;
  std::vector<StoreSpec> specs;
  bool breaks_down = false;
  bool only = false;  // no others take part
};

std::vector<Entry> AllEntries(Scale scale) {
  std::vector<Entry> entries;
  std::vector<StoreSpec> alphas = {{"kamino-simple", {}}};
  for (double alpha : {0.1, 0.3, 0.5, 0.7, 0.9}) {
    alphas.push_back({"kamino-dynamic", alpha});
  }
  entries.push_back({MakeMicroSuite(scale), MakeMicroSuite(Scale::kCount),
                     AllStores(), true});
  entries.push_back(
      {MakeYcsbSuite(scale), MakeYcsbSuite(Scale::kCount), AllStores(), true});
  entries.push_back(
      {MakeTpccSuite(scale), MakeTpccSuite(Scale::kCount), AtomicStores()});
  entries.push_back({MakeAlphaSuite(scale), MakeAlphaSuite(Scale::kCount),
                     alphas,
                     /*breaks_down=*/false, /*only=*/true});
  return entries;
}

// Whether --schemes names it, or none.
bool IsChosen(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() ||
         std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> ChosenMaps(const std::vector<std::string>& names) {
  std::vector<std::string> maps = AllMaps();
  const auto out = [&names](const std::string& map) {
    return !IsChosen(names, map);
  };
  maps.erase(std::remove_if(maps.begin(), maps.end(), out), maps.end());
  return maps;
}

// Drops what --schemes leaves out, and adds what is there when it is named.
void Choose(const std::vector<std::string>& names,
            std::vector<Entry>* entries) {
  if (names.empty()) return;
  for (Entry& entry : *entries) {
    if (!entry.only) {
      const std::vector<StoreSpec> more = MoreStores();
      entry.specs.insert(entry.specs.end(), more.begin(), more.end());
    }
    const auto out = [&names](const StoreSpec& spec) {
      return std::find(names.begin(), names.end(), spec.scheme) == names.end();
    };
    entry.specs.erase(
        std::remove_if(entry.specs.begin(), entry.specs.end(), out),
        entry.specs.end());
  }
}

std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!absl::StartsWith(line, "model name")) continue;
    const std::vector<std::string> parts = absl::StrSplit(line, ": ");
    if (parts.size() == 2) return parts[1];
  }
  return "unknown";
}

// Drops what cannot be slowed, where the memory is to be slower.
void Slow(const Options& flags, std::vector<Entry>* entries) {
  const engine::PmemDelays delays = {flags.drains_ns.front(), flags.line_ns};
  // Alike for all: with the library libpmemobj's calls go through it.
  const bool vary = flags.drains_ns.size() > 1 || HasPmemShim();
  if (!delays.any() && !vary) return;
  for (Entry& entry : *entries) {
    entry.specs.erase(std::remove_if(entry.specs.begin(), entry.specs.end(),
                                     [](const StoreSpec& spec) {
                                       return !CanWatch(spec) && !HasPmemShim();
                                     }),
                      entry.specs.end());
    for (StoreSpec& spec : entry.specs) {
      spec.delays = delays;
      spec.drains_vary = vary;
    }
  }
}

Facts MakeFacts(const Options& flags, const RaceOptions& options, bool quick) {
  return {
      {"scale", flags.least_data ? "least"
                : quick          ? "quick"
                                 : "full"},
      {"processor", ProcessorName()},
      {"processors", absl::StrCat(std::thread::hardware_concurrency())},
      {"medium", flags.folder},
      {"added_delay_ns", absl::StrCat(absl::StrJoin(flags.drains_ns, ", "),
                                      " a drain, ", flags.line_ns, " a line")},
      {"rounds", absl::StrCat(options.rounds)},
      {"slice", absl::FormatDuration(options.slice)},
      {"clock_overhead_ns", absl::StrFormat("%.1f", TickOverheadNanos())},
  };
}

struct Results {
  std::vector<Row> rows;
  std::vector<BreakdownRow> breakdown;
};

Scale ScaleOf(const Options& flags, bool quick) {
  if (flags.least_data) return Scale::kCount;
  return quick ? Scale::kQuick : Scale::kFull;
}

absl::Status Measure(const Options& flags, bool quick,
                     const std::vector<Entry>& entries,
                     const RaceOptions& options, PoolFolder& folder,
                     Results* results) {
  const Progress progress = Program::StartProgress();
  for (const Entry& entry : entries) {
    absl::Status done = RunTimed(*entry.timed, entry.specs, folder, options,
                                 progress, &results->rows);
    if (done.ok() && !flags.timed_only) {
      done = RunCounted(*entry.counted, entry.specs, folder, options, progress,
                        &results->rows);
    }
    if (done.ok() && entry.breaks_down) {
      done = RunBreakdown(*entry.timed, entry.specs, folder, options, progress,
                          &results->breakdown);
    }
    if (!done.ok()) return done;
  }
  // Not all maps can be slowed.
  const bool slowed =
      flags.drains_ns.size() > 1 || flags.drains_ns[0] > 0 || flags.line_ns > 0;
  if (slowed) return absl::OkStatus();
  return RunMaps(MapScaleOf(ScaleOf(flags, quick)), ChosenMaps(flags.schemes),
                 folder, options, progress, &results->rows);
}

int List(const std::vector<Entry>& entries, const RaceOptions& options) {
  for (const Entry& entry : entries) {
    for (const Cell& cell : entry.timed->Cells()) {
      const std::string name =
          absl::StrCat(entry.timed->name(), "/", cell.Name());
      if (options.wanted(name)) std::cout << name << "\n";
      const std::string parts = absl::StrCat("breakdown/", cell.Name());
      if (!entry.breaks_down || !CanBreakDown(cell)) continue;
      if (options.wanted(parts)) std::cout << parts << "\n";
    }
  }
  for (const Cell& cell : MapCells()) {
    const std::string name = absl::StrCat("maps/", cell.Name());
    if (options.wanted(name)) std::cout << name << "\n";
  }
  return kExitOk;
}

int Run(const Program& program, const Options& flags) {
  const bool quick = program.quick();
  RaceOptions options;
  options.wanted = [only = std::regex(flags.only)](const std::string& name) {
    return std::regex_search(name, only);
  };
  options.rounds = flags.rounds;
  options.slice = absl::Milliseconds(flags.slice_ms > 0 ? flags.slice_ms
                                     : quick            ? 5
                                                        : 60);
  options.warm_up = options.slice / 2;
  options.first_warm_up =
      std::max(options.warm_up, std::min(options.slice * 15, absl::Seconds(1)));
  options.drains_ns = flags.drains_ns;
  options.floor = IsChosen(flags.schemes, kFloor);

  std::vector<Entry> entries = AllEntries(ScaleOf(flags, quick));
  Choose(flags.schemes, &entries);
  Slow(flags, &entries);
  if (flags.list) return List(entries, options);

  std::vector<uint64_t> drains_ns = flags.drains_ns;
  std::sort(drains_ns.begin(), drains_ns.end());
  const auto twice = std::adjacent_find(drains_ns.begin(), drains_ns.end());
  if (twice != drains_ns.end()) {
    return program.Fail(kExitUsage, absl::StrCat("--pmem_delay_drain_ns has ",
                                                 *twice, " twice: each once"));
  }
  auto folder = PoolFolder::Create(flags.folder);
  if (!folder.ok()) {
    return program.Fail(kExitFailed, folder.status().message());
  }
  Results results;
  absl::Status measured =
      Measure(flags, quick, entries, options, **folder, &results);
  if (!measured.ok()) return program.Fail(kExitFailed, measured.message());
  if (results.rows.empty() && results.breakdown.empty()) {
    return program.Fail(kExitUsage,
                        "--only and --schemes leave nothing to measure");
  }
  const Facts facts = MakeFacts(flags, options, quick);
  return program.Report(
      facts,
      ToJson(flags.drains_ns.size() > 1 ? "drains" : "engine", facts,
             results.rows, results.breakdown),
      absl::StrCat(ToTables(results.rows), ToTable(results.breakdown)));
}

}  // namespace
}  // namespace kamino::bench

int main(int argc, char** argv) {
  using namespace kamino::bench;
  Program program("bench-engine",
                  "Measures the atomicity schemes of the engine side by side.");
  Options options;
  AddFlags(&program.flags(), &options);
  if (const auto code = program.Parse(argc, argv)) return *code;
  return Run(program, options);
}
