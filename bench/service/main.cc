// bench-service: Kamino beside other replicated stores, which run already; see
// bench/service/service.py, which starts them.
//
// Exit codes: 0, 1 when it cannot go on or some operation failed, 2 for bad
// flags.
#include <sys/prctl.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "bench/harness/program.h"
#include "bench/service/race.h"
#include "bench/service/results.h"
#include "bench/service/subjects.h"

namespace kamino::bench::service {
namespace {

constexpr int kMaxRounds = 1000;
constexpr int kMaxMillis = 3'600'000;
constexpr TpccScale kTpcc = {8, 2000, 60};
constexpr TpccScale kQuickTpcc = {2, 200, 30};

struct Options {
  std::vector<std::string> subjects;
  std::string rival = "redis";
  std::vector<std::string> workloads = {"put", "get"};
  std::vector<size_t> value_sizes = {1024};
  std::vector<int> outstanding = {1, 32, 128};
  std::vector<int> loads = {25, 50, 75, 90};
  std::vector<double> rates;
  uint64_t objects = 100'000;
  std::optional<int> rounds;
  std::optional<int> slice_ms;
  std::optional<int> warm_up_ms;
  std::optional<int> endurance_s;
  std::string arrivals = "poisson";
  std::optional<uint32_t> tpcc_warehouses;
};

std::vector<std::string> Workloads() {
  std::vector<std::string> names;
  for (const Mix& mix : Mixes()) {
    if (mix.parts.front().kind != Kind::kLoad) names.push_back(mix.name);
  }
  return names;
}

void AddLoadFlags(CLI::App* flags, Options* options) {
  flags
      ->add_option("--outstanding", options->outstanding,
                   "Closed loads: operations under way at once; 0 for none.")
      ->delimiter(',')
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  flags
      ->add_option("--loads", options->loads,
                   "Open loads: percent of each subject's best closed load; 0 "
                   "for none.")
      ->delimiter(',')
      ->check(CLI::Range(0, 200))
      ->capture_default_str();
  flags
      ->add_option("--rates", options->rates,
                   "More open loads: operations per second, for all alike.")
      ->delimiter(',')
      ->check(CLI::Range(1.0, 1e7));
  flags
      ->add_option("--endurance_s", options->endurance_s,
                   "Seconds of one long slice at half load, of the first "
                   "workload (default: 60; --quick: 0, none).")
      ->check(CLI::Range(0, kMaxMillis / 1000));
  flags
      ->add_option("--arrivals", options->arrivals,
                   "Of open loads: poisson, or fixed: equally far apart.")
      ->check(CLI::IsMember({"poisson", "fixed"}))
      ->capture_default_str();
}

void AddFlags(CLI::App* flags, Options* options) {
  flags
      ->add_option("--subject", options->subjects,
                   "One for each: name=;kind=kamino|redis|etcd;at=host:port,"
                   "...;processes=role:pid,...;about=; kamino: carrier=; "
                   "redis: writing=;reading= (connections);replicas=; etcd: "
                   "connections=")
      ->required();
  flags
      ->add_option("--rival", options->rival,
                   "The subject that the table's ratios are to.")
      ->capture_default_str();
  flags->add_option("--workloads", options->workloads, "Separated by commas.")
      ->delimiter(',')
      ->check(CLI::IsMember(Workloads()))
      ->capture_default_str();
  flags
      ->add_option("--value_sizes", options->value_sizes,
                   "Bytes, separated by commas.")
      ->delimiter(',')
      ->check(CLI::Range(kLeastValue, size_t{1} << 20))
      ->capture_default_str();
  flags
      ->add_option("--objects", options->objects,
                   "How many there are; fewer of those over 2.6 KiB, which are "
                   "256 MiB together.")
      ->check(CLI::Range(uint64_t{1}, uint64_t{100'000'000}))
      ->capture_default_str();
  flags
      ->add_option("--rounds", options->rounds,
                   "Rounds over all subjects (default: 5; --quick: 2).")
      ->check(CLI::Range(1, kMaxRounds));
  flags
      ->add_option("--slice_ms", options->slice_ms,
                   "How long each subject is measured in a round (default: "
                   "2000; --quick: 500).")
      ->check(CLI::Range(1, kMaxMillis));
  flags
      ->add_option("--warm_up_ms", options->warm_up_ms,
                   "Before each slice (default: a quarter of it).")
      ->check(CLI::Range(0, kMaxMillis));
  flags
      ->add_option("--tpcc_warehouses", options->tpcc_warehouses,
                   "TPC-C warehouses (default: 8; --quick: 2). Each terminal "
                   "(--outstanding) has a home warehouse of its own while "
                   "there are enough.")
      ->check(CLI::Range(1u, 1024u));
  AddLoadFlags(flags, options);
}

RaceOptions RaceOf(const Options& options, bool quick) {
  RaceOptions race;
  race.workloads = options.workloads;
  race.value_sizes = options.value_sizes;
  for (int outstanding : options.outstanding) {
    if (outstanding != 0) race.outstanding.push_back(outstanding);
  }
  for (int load : options.loads) {
    if (load != 0) race.loads.push_back(load);
  }
  race.rates = options.rates;
  race.objects = options.objects;
  race.rounds = options.rounds.value_or(quick ? 2 : 5);
  const int slice_ms = options.slice_ms.value_or(quick ? 500 : 2000);
  race.slice = absl::Milliseconds(slice_ms);
  race.warm_up = absl::Milliseconds(options.warm_up_ms.value_or(slice_ms / 4));
  race.tpcc = quick ? kQuickTpcc : kTpcc;
  if (options.tpcc_warehouses.has_value()) {
    race.tpcc.warehouses = *options.tpcc_warehouses;
  }
  race.endurance = absl::Seconds(options.endurance_s.value_or(quick ? 0 : 60));
  race.arrivals =
      options.arrivals == "fixed" ? Arrivals::kFixed : Arrivals::kPoisson;
  return race;
}

absl::StatusOr<std::vector<SubjectSpec>> ParseSubjects(
    const std::vector<std::string>& texts) {
  std::vector<SubjectSpec> specs;
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(SubjectSpec spec, ParseSubject(text));
    for (const SubjectSpec& other : specs) {
      if (other.name == spec.name) {
        return absl::InvalidArgumentError(
            absl::StrCat("two subjects are named ", spec.name));
      }
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

absl::Status Measure(const std::vector<SubjectSpec>& specs,
                     const RaceOptions& options, std::vector<Row>* rows) {
  std::vector<Racer> racers;
  for (const SubjectSpec& spec : specs) {
    auto subject = MakeSubject(spec);
    if (!subject.ok()) {
      return absl::Status(
          subject.status().code(),
          absl::StrCat(spec.name, ": ", subject.status().message()));
    }
    racers.push_back({*std::move(subject), spec.processes});
  }
  return RunRace(racers, options, Program::StartProgress(), rows);
}

absl::StatusOr<Facts> FactsOf(const RaceOptions& race, const Options& options,
                              bool quick, const SystemTicks& before) {
  ASSIGN_OR_RETURN(const SystemTicks after, ReadSystemTicks());
  return Facts{
      {"scale", quick ? "quick" : "full"},
      {"processor", ProcessorModel()},
      {"processors", absl::StrCat(std::thread::hardware_concurrency())},
      {"steal", absl::StrFormat("%.2f %% of the machine's time",
                                100 * StealFraction(before, after))},
      {"rounds", absl::StrCat(race.rounds)},
      {"slice", absl::FormatDuration(race.slice)},
      {"warm-up", absl::FormatDuration(race.warm_up)},
      {"objects", absl::StrCat(race.objects, ", zipfian 0.99")},
      {"arrivals", options.arrivals},
  };
}

int Run(const Program& program, const Options& options) {
  const auto specs = ParseSubjects(options.subjects);
  if (!specs.ok()) return program.Fail(kExitUsage, specs.status().message());
  const auto before = ReadSystemTicks();
  if (!before.ok()) return program.Fail(kExitFailed, before.status().message());
  // Sends are due to the microsecond.
  ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  const RaceOptions race = RaceOf(options, program.quick());
  std::vector<Row> rows;
  const absl::Status measured = Measure(*specs, race, &rows);
  if (!measured.ok()) return program.Fail(kExitFailed, measured.message());
  const auto facts = FactsOf(race, options, program.quick(), *before);
  if (!facts.ok()) return program.Fail(kExitFailed, facts.status().message());
  const int code = program.Report(*facts, ToJson(*facts, *specs, rows),
                                  ToTables(*specs, rows, options.rival));
  const uint64_t errors = ErrorsOf(rows);
  if (code != kExitOk || errors == 0) return code;
  return program.Fail(kExitFailed, absl::StrCat(errors, " operations failed"));
}

}  // namespace
}  // namespace kamino::bench::service

int main(int argc, char** argv) {
  using namespace kamino::bench;
  Program program("bench-service",
                  "Measures Kamino and other replicated stores side by side. "
                  "They run already: bench/service/service.py starts them.");
  service::Options options;
  service::AddFlags(&program.flags(), &options);
  if (const auto code = program.Parse(argc, argv)) return *code;
  return service::Run(program, options);
}
