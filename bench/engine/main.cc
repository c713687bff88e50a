// bench-engine: measures every atomicity scheme on the same work.
//
// Exit codes: 0, 1 when it cannot go on, 2 for bad flags, 128 and the signal
// after SIGINT or SIGTERM. Pool files are gone in every case.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "bench/engine/breakdown.h"
#include "bench/engine/clock.h"
#include "bench/engine/micro.h"
#include "bench/engine/pool_folder.h"
#include "bench/engine/race.h"
#include "bench/engine/results.h"
#include "bench/engine/tpcc.h"
#include "bench/engine/ycsb.h"
#include "glog/logging.h"

ABSL_FLAG(bool, quick, false, "Less data and shorter slices: under a minute.");
ABSL_FLAG(std::string, only, "",
          "Measure what this regular expression matches a part of: "
          "suite/workload/distribution/threads/value size.");
ABSL_FLAG(std::vector<std::string>, schemes, {},
          "Measure these schemes only, separated by commas.");
ABSL_FLAG(std::string, folder, "/dev/shm",
          "Where pool files are put, in a fresh folder that is removed.");
ABSL_FLAG(std::string, out, "", "Write the measurements to this file as JSON.");
ABSL_FLAG(bool, json, false, "Print JSON on stdout instead of tables.");
ABSL_FLAG(int, rounds, 5, "Rounds over all schemes for each measurement.");
ABSL_FLAG(bool, list, false, "Print what would be measured, and exit.");

namespace kamino::bench {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

constexpr int kMaxRounds = 1000;

int Fail(int code, absl::string_view message) {
  std::cerr << "bench-engine: " << message << "\n";
  return code;
}

// A suite at the scale to measure and at that to count, and who takes part.
struct Entry {
  std::unique_ptr<Suite> timed;
  std::unique_ptr<Suite> counted;
  std::vector<StoreSpec> specs;
  bool breaks_down = false;
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
  entries.push_back(
      {MakeAlphaSuite(scale), MakeAlphaSuite(Scale::kCount), alphas});
  return entries;
}

// Drops what --schemes leaves out. kInvalidArgument: nobody has that name.
absl::Status Choose(const std::vector<std::string>& names,
                    std::vector<Entry>* entries) {
  if (names.empty()) return absl::OkStatus();
  for (const std::string& name : names) {
    bool known = false;
    for (const StoreSpec& spec : AllStores()) known |= spec.scheme == name;
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("--schemes: there is no scheme '", name, "'"));
    }
  }
  for (Entry& entry : *entries) {
    const auto out = [&names](const StoreSpec& spec) {
      return std::find(names.begin(), names.end(), spec.scheme) == names.end();
    };
    entry.specs.erase(
        std::remove_if(entry.specs.begin(), entry.specs.end(), out),
        entry.specs.end());
  }
  return absl::OkStatus();
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

Facts MakeFacts(const RaceOptions& options, bool quick) {
  return {
      {"scale", quick ? "quick" : "full"},
      {"processor", ProcessorName()},
      {"processors", absl::StrCat(std::thread::hardware_concurrency())},
      {"medium", absl::GetFlag(FLAGS_folder)},
      {"rounds", absl::StrCat(options.rounds)},
      {"slice", absl::FormatDuration(options.slice)},
      {"clock_overhead_ns", absl::StrFormat("%.1f", TickOverheadNanos())},
  };
}

struct Results {
  std::vector<Row> rows;
  std::vector<BreakdownRow> breakdown;
};

absl::Status Measure(const std::vector<Entry>& entries,
                     const RaceOptions& options, PoolFolder& folder,
                     Results* results) {
  const absl::Time begin = absl::Now();
  const auto progress = [begin](const std::string& what) {
    std::cerr << absl::StreamFormat(
        "%6.1f s  %s\n", absl::ToDoubleSeconds(absl::Now() - begin), what);
  };
  for (const Entry& entry : entries) {
    absl::Status done = RunTimed(*entry.timed, entry.specs, folder, options,
                                 progress, &results->rows);
    if (done.ok()) {
      done = RunCounted(*entry.counted, entry.specs, folder, options, progress,
                        &results->rows);
    }
    if (done.ok() && entry.breaks_down) {
      done = RunBreakdown(*entry.timed, entry.specs, folder, options, progress,
                          &results->breakdown);
    }
    if (!done.ok()) return done;
  }
  return absl::OkStatus();
}

int Write(const Facts& facts, const Results& results) {
  const std::string json = ToJson(facts, results.rows, results.breakdown);
  const std::string out = absl::GetFlag(FLAGS_out);
  if (!out.empty()) {
    std::ofstream file(out);
    file << json;
    file.close();
    if (!file) return Fail(kExitFailed, absl::StrCat("cannot write ", out));
  }
  if (absl::GetFlag(FLAGS_json)) {
    std::cout << json;
    return kExitOk;
  }
  for (const auto& [name, value] : facts) {
    std::cout << name << ": " << value << "\n";
  }
  std::cout << ToTables(results.rows) << ToTable(results.breakdown);
  return kExitOk;
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
  return kExitOk;
}

int Run() {
  const bool quick = absl::GetFlag(FLAGS_quick);
  const int rounds = absl::GetFlag(FLAGS_rounds);
  if (rounds < 1 || rounds > kMaxRounds) {
    return Fail(kExitUsage, absl::StrCat("--rounds: 1 to ", kMaxRounds));
  }
  std::regex only;
  try {
    only = std::regex(absl::GetFlag(FLAGS_only));
  } catch (const std::regex_error&) {
    return Fail(kExitUsage, absl::StrCat("--only: '", absl::GetFlag(FLAGS_only),
                                         "' is no regular expression"));
  }
  RaceOptions options;
  options.wanted = [&only](const std::string& name) {
    return std::regex_search(name, only);
  };
  options.rounds = rounds;
  options.slice = absl::Milliseconds(quick ? 5 : 60);
  options.warm_up = options.slice / 2;

  std::vector<Entry> entries = AllEntries(quick ? Scale::kQuick : Scale::kFull);
  absl::Status chosen = Choose(absl::GetFlag(FLAGS_schemes), &entries);
  if (!chosen.ok()) return Fail(kExitUsage, chosen.message());
  if (absl::GetFlag(FLAGS_list)) return List(entries, options);

  auto folder = PoolFolder::Create(absl::GetFlag(FLAGS_folder));
  if (!folder.ok()) return Fail(kExitFailed, folder.status().message());
  Results results;
  absl::Status measured = Measure(entries, options, **folder, &results);
  if (!measured.ok()) return Fail(kExitFailed, measured.message());
  if (results.rows.empty() && results.breakdown.empty()) {
    return Fail(kExitUsage, "--only and --schemes leave nothing to measure");
  }
  return Write(MakeFacts(options, quick), results);
}

}  // namespace
}  // namespace kamino::bench

int main(int argc, char** argv) {
  // Abseil ends the process with 1 for bad flags and for --help.
  static bool parsing = true;
  static int code = kamino::bench::kExitUsage;
  for (int i = 1; i < argc; ++i) {
    if (absl::StartsWith(argv[i], "--help")) code = kamino::bench::kExitOk;
  }
  std::atexit([] {
    if (!parsing) return;
    std::cout.flush();
    std::fflush(nullptr);
    _exit(code);
  });
  absl::SetProgramUsageMessage(
      "Measures the atomicity schemes of the engine side by side.\n"
      "bench-engine [--quick] [--only=REGEX] [--schemes=A,B] [--out=FILE]");
  absl::FlagsUsageConfig usage;
  usage.contains_help_flags = [](absl::string_view file) {
    return absl::EndsWith(file, "bench/engine/main.cc");
  };
  absl::SetFlagsUsageConfig(usage);
  const std::vector<char*> words = absl::ParseCommandLine(argc, argv);
  parsing = false;
  google::InitGoogleLogging(argv[0]);
  // As programs should that are no tests; it costs as much as the lock.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  FLAGS_logtostderr = true;
  if (words.size() > 1) {
    std::cerr << "bench-engine: '" << words[1] << "' is not a flag\n";
    return kamino::bench::kExitUsage;
  }
  return kamino::bench::Run();
}
