// bench-crash-model: Archapt's table 4 (lab/docs/schemes.md).
//
// Exit codes: 0; 1 when it cannot go on, or an object was wrong after a crash
// and recovery did not say so; 2 for bad flags.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/harness/program.h"
#include "lab/crash_model/crash_model.h"
#include "lab/crash_model/results.h"

namespace kamino::bench::crash_model {
namespace {

struct Options {
  int crashes = 0;  // 0: as many as the scale has
  uint64_t seed = 1;
  uint64_t cache_kib = 0;  // the same
  uint64_t ways = CacheSize().ways;
  std::vector<double> queues = {1, 2};
  std::vector<std::string> workloads;
  bool gainful = false;
};

// The paper's options, or a twentieth of them.
CrashModelOptions AtScale(bool quick) {
  CrashModelOptions options;
  if (!quick) return options;
  constexpr uint64_t kPart = 20;
  options.scale = Scale::kCount;
  options.cache.bytes /= kPart;
  options.warm_up /= kPart;
  options.transactions /= kPart;
  options.crashes = 20;
  return options;
}

std::vector<std::string> Letters() {
  std::vector<std::string> letters;
  for (const char* at = kCrashedWorkloads; *at != 0; ++at) {
    letters.emplace_back(1, *at);
  }
  return letters;
}

void AddFlags(CLI::App* flags, Options* options) {
  flags
      ->add_option("--crashes", options->crashes,
                   "Of each workload (default: 100; by --quick 20).")
      ->check(CLI::Range(1, 100'000));
  flags->add_option("--seed", options->seed, "The same one does the same.")
      ->capture_default_str();
  flags
      ->add_option("--cache_kib", options->cache_kib,
                   "The cache (default: 19712; by --quick a twentieth).")
      ->check(CLI::Range(1, 1 << 20));
  flags->add_option("--ways", options->ways, "Lines of a set of the cache.")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  flags
      ->add_option("--queues", options->queues,
                   "How long Archapt takes the cache to be, in parts of what "
                   "it is; separated by commas.")
      ->delimiter(',')
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
  flags
      ->add_option("--workloads", options->workloads,
                   "Of YCSB, by letter; separated by commas (default: all of "
                   "these).")
      ->delimiter(',')
      ->check(CLI::IsMember(Letters()));
  flags->add_flag("--gainful", options->gainful,
                  "Only objects go into matrices whose sums have fewer lines "
                  "than they have to flush. Else all do, as the paper's.");
}

absl::Status RunAll(const Options& flags, const CrashModelOptions& all,
                    const Progress& progress, std::vector<QueueRow>* rows) {
  const std::vector<std::string> letters =
      flags.workloads.empty() ? Letters() : flags.workloads;
  for (const double queue : flags.queues) {
    CrashModelOptions options = all;
    options.archapt.queue_bytes =
        static_cast<uint64_t>(queue * static_cast<double>(options.cache.bytes));
    progress(absl::StrCat("filling the store; queue of ", queue, " caches"));
    auto model = CrashModel::Make(options);
    if (!model.ok()) return model.status();
    for (const std::string& letter : letters) {
      progress(
          absl::StrCat("ycsb-", letter, ": ", options.crashes, " crashes"));
      auto row = (*model)->Run(letter[0]);
      if (!row.ok()) {
        return absl::Status(
            row.status().code(),
            absl::StrCat("ycsb-", letter, ": ", row.status().message()));
      }
      rows->push_back({queue, *row});
    }
  }
  return absl::OkStatus();
}

int Run(const Program& program, const Options& flags) {
  CrashModelOptions options = AtScale(program.quick());
  if (flags.crashes > 0) options.crashes = flags.crashes;
  if (flags.cache_kib > 0) options.cache.bytes = flags.cache_kib << 10;
  options.cache.ways = flags.ways;
  options.seed = flags.seed;
  options.archapt.gainful_only = flags.gainful;
  std::vector<QueueRow> rows;
  const absl::Status done =
      RunAll(flags, options, Program::StartProgress(), &rows);
  if (!done.ok()) return program.Fail(kExitFailed, done.message());
  const Facts facts = {
      {"scale", program.quick() ? "quick" : "full"},
      {"cache", absl::StrCat(options.cache.bytes >> 10, " KiB, ",
                             options.cache.ways, " ways")},
      {"matrices", flags.gainful ? "of what gains by it" : "of all"},
      {"seed", absl::StrCat(options.seed)},
  };
  const int code = program.Report(facts, ToJson(facts, rows), ToTable(rows));
  if (code != kExitOk) return code;
  const bool unsaid =
      std::any_of(rows.begin(), rows.end(), [](const QueueRow& row) {
        return row.row.counts.wrong + row.row.counts.lost_needlessly > 0;
      });
  return unsaid ? program.Fail(kExitFailed,
                               "objects were wrong and recovery did not say "
                               "so, or were said to be and were not")
                : kExitOk;
}

}  // namespace
}  // namespace kamino::bench::crash_model

int main(int argc, char** argv) {
  using namespace kamino::bench;
  Program program("bench-crash-model",
                  "Crashes YCSB on Archapt through a model of a cache.");
  crash_model::Options options;
  crash_model::AddFlags(&program.flags(), &options);
  if (const auto code = program.Parse(argc, argv)) return *code;
  return crash_model::Run(program, options);
}
