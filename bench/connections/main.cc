// bench-connections: what many sessions, or idle connections, cost a chain that
// runs already; see bench/connections/connections.py, which starts one.
//
// Exit codes: 0, 1 when it cannot go on or something was lost, 2 for bad flags.
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "bench/connections/crowd.h"
#include "bench/connections/dialer.h"
#include "bench/connections/measure.h"
#include "bench/connections/memory.h"
#include "bench/connections/results.h"
#include "bench/harness/program.h"

namespace kamino::bench::connections {
namespace {

constexpr int kMost = 1'000'000;
constexpr int kStreams = 100;  // of "grpc-streams", for each channel
constexpr int64_t kSpareDescriptors = 512;

struct Options {
  std::string measure;
  std::vector<std::string> seeds;
  std::vector<std::string> processes;
  std::string beside = "tcp";
  std::optional<int> sessions, connections, idle, rounds, slice_ms;
  uint32_t window = 16;
  int outstanding = 32;
};

void AddFlags(CLI::App* flags, Options* options) {
  flags
      ->add_option("--measure", options->measure,
                   "sessions; or idle connections, over shm, verbs, tcp, grpc "
                   "(a channel each) or grpc-streams (100 on a channel).")
      ->required()
      ->check(CLI::IsMember(
          {"sessions", "shm", "verbs", "tcp", "grpc", "grpc-streams"}));
  flags
      ->add_option("--seeds", options->seeds,
                   "The chain's nodes, host:port,..., the head first.")
      ->required()
      ->delimiter(',');
  flags
      ->add_option("--processes", options->processes,
                   "Whose memory is looked at: role:pid,..., the head first.")
      ->required()
      ->delimiter(',');
  flags
      ->add_option("--beside", options->beside,
                   "Carrier of the client whose speed is measured beside.")
      ->check(CLI::IsMember({"shm", "verbs", "tcp", "grpc"}))
      ->capture_default_str();
  flags
      ->add_option("--sessions", options->sessions,
                   "Sessions (default: 10000; --quick: 1000).")
      ->check(CLI::Range(1, kMost));
  flags
      ->add_option("--connections", options->connections,
                   "By which they are opened; by default 100.")
      ->check(CLI::Range(1, kMost));
  flags->add_option("--window", options->window, "Of each session.")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  flags
      ->add_option("--idle", options->idle,
                   "Idle connections (default: 10000; --quick: 1000).")
      ->check(CLI::Range(1, kMost));
  flags
      ->add_option("--outstanding", options->outstanding,
                   "Operations that the client beside has under way.")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  flags
      ->add_option("--rounds", options->rounds,
                   "How often they come and go (default: 5; --quick: 1).")
      ->check(CLI::Range(1, 1000));
  flags
      ->add_option("--slice_ms", options->slice_ms,
                   "How long puts, and gets, are measured each time (default: "
                   "1000; --quick: 250).")
      ->check(CLI::Range(1, 3'600'000));
}

absl::StatusOr<std::vector<service::Process>> ParseProcesses(
    const std::vector<std::string>& texts) {
  std::vector<service::Process> processes;
  for (const std::string& text : texts) {
    const std::vector<std::string> halves = absl::StrSplit(text, ':');
    service::Process process;
    if (halves.size() != 2 || !absl::SimpleAtoi(halves[1], &process.pid) ||
        process.pid < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--processes: ", text, " is not role:pid"));
    }
    process.role = halves[0];
    processes.push_back(std::move(process));
  }
  return processes;
}

struct Scale {
  size_t sessions, connections, idle;
};

absl::StatusOr<std::vector<Round>> Run(const Options& options,
                                       const Scale& scale,
                                       const MeasureOptions& measure) {
  const bool sessions = options.measure == "sessions";
  const auto wanted =
      static_cast<int64_t>(sessions ? scale.connections : scale.idle) +
      kSpareDescriptors;
  RETURN_IF_ERROR(CheckDescriptors(0, "this process", wanted));
  const service::Process& head = measure.processes.front();
  RETURN_IF_ERROR(CheckDescriptors(head.pid, head.role, wanted));
  const bool streams = options.measure == "grpc-streams";
  const std::string carrier = sessions  ? "tcp"
                              : streams ? "grpc"
                                        : options.measure;
  ASSIGN_OR_RETURN(
      const auto dialer,
      Dialer::Make(carrier, measure.seeds.front(), streams ? kStreams : 1));
  const auto crowd =
      sessions ? Sessions({scale.sessions, scale.connections, options.window},
                          dialer.get())
               : IdleConnections(scale.idle, dialer.get());
  return Measure(measure, crowd.get(), dialer.get(), Program::StartProgress());
}

Facts FactsOf(const Options& options, const Scale& scale,
              const MeasureOptions& measure) {
  Facts facts = {
      {"measure", options.measure},
      {"processor", service::ProcessorModel()},
      {"processors", absl::StrCat(std::thread::hardware_concurrency())},
      {"slice", absl::FormatDuration(measure.slice)},
      {"beside", absl::StrCat(measure.outstanding, " outstanding over ",
                              measure.carrier)}};
  if (options.measure == "sessions") {
    facts.emplace_back("asked", absl::StrCat(scale.sessions));
    facts.emplace_back("connections", absl::StrCat(scale.connections));
    facts.emplace_back("window", absl::StrCat(options.window));
  } else {
    facts.emplace_back("asked", absl::StrCat(scale.idle));
  }
  return facts;
}

int Run(const Program& program, const Options& options) {
  const int many = program.quick() ? 1000 : 10'000;
  const Scale scale = {static_cast<size_t>(options.sessions.value_or(many)),
                       static_cast<size_t>(options.connections.value_or(100)),
                       static_cast<size_t>(options.idle.value_or(many))};
  const auto processes = ParseProcesses(options.processes);
  if (!processes.ok()) {
    return program.Fail(kExitUsage, processes.status().message());
  }
  MeasureOptions measure;
  measure.seeds = options.seeds;
  measure.processes = *processes;
  measure.carrier = options.beside;
  measure.outstanding = options.outstanding;
  measure.rounds = options.rounds.value_or(program.quick() ? 1 : 5);
  measure.slice = absl::Milliseconds(
      options.slice_ms.value_or(program.quick() ? 250 : 1000));
  const auto rounds = Run(options, scale, measure);
  if (!rounds.ok()) return program.Fail(kExitFailed, rounds.status().message());
  const Facts facts = FactsOf(options, scale, measure);
  const int code = program.Report(facts, ToJson(facts, measure, *rounds),
                                  ToText(measure, *rounds));
  size_t lost = 0;
  for (const Round& round : *rounds) lost += round.lost;
  if (code != kExitOk || lost == 0) return code;
  return program.Fail(kExitFailed, absl::StrCat(lost, " were lost"));
}

}  // namespace
}  // namespace kamino::bench::connections

int main(int argc, char** argv) {
  using namespace kamino::bench;
  Program program("bench-connections",
                  "Measures what many sessions or idle connections cost a "
                  "chain. It runs already: bench/connections/connections.py "
                  "starts one.");
  connections::Options options;
  connections::AddFlags(&program.flags(), &options);
  if (const auto code = program.Parse(argc, argv)) return *code;
  return connections::Run(program, options);
}
