// bench-controller: the figures of WrAP's paper by a model of its memory
// controller. lab/docs/wrap_controller.md.
//
// Exit codes: 0, also where a mark is not met; 1 when it cannot go on, 2 for
// bad flags, 128 and the signal after SIGINT or SIGTERM.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/engine/pool_folder.h"
#include "bench/engine/stores.h"
#include "bench/harness/program.h"
#include "lab/controller/figures.h"
#include "lab/controller/machine.h"
#include "lab/controller/trace_file.h"

namespace kamino::bench::controller {
namespace {

// The other name of the figure that covers both.
constexpr char kAlsoSeven[] = "6";

struct Options {
  Machine machine;
  uint64_t path_ns = Machine().path / kNanosecond;
  std::vector<std::string> only;
  std::string store = "wrap";
  std::string folder = "/dev/shm";
  std::string trace;
  std::string save_traces;
};

std::vector<std::string> FigureNames() {
  std::vector<std::string> names;
  for (const NamedFigure& figure : kFigures) names.push_back(figure.name);
  names.push_back(kAlsoSeven);
  return names;
}

std::vector<std::string> StoreNames() {
  std::vector<std::string> names;
  for (const StoreSpec& spec : AllStores()) names.push_back(spec.scheme);
  return names;
}

void AddFlags(CLI::App* flags, Options* options) {
  CLI::Option* const only =
      flags
          ->add_option("--only", options->only,
                       "These figures only, separated by commas; 6 and 7 are "
                       "one.")
          ->delimiter(',')
          ->check(CLI::IsMember(FigureNames()));
  flags
      ->add_option("--store", options->store,
                   "Scheme of the stores whose work is recorded; what a trace "
                   "has does not depend on it, but for where objects are.")
      ->check(CLI::IsMember(StoreNames()))
      ->capture_default_str();
  flags
      ->add_option("--folder", options->folder,
                   "Where their files are put, in a fresh folder that is "
                   "removed.")
      ->capture_default_str();
  CLI::Option* const save =
      flags->add_option("--save_traces", options->save_traces,
                        "Also write what is recorded to files in this folder, "
                        "which is made if there is none.");
  flags
      ->add_option("--trace", options->trace,
                   "Instead: this file's trace by every method "
                   "(lab/docs/memory_trace.md).")
      ->excludes(only)
      ->excludes(save);
}

// Parameters that neither the paper nor the simulators it used state, to see
// what depends on them.
void AddMachineFlags(CLI::App* flags, Options* options) {
  const auto add = [flags](const std::string& name, auto* value,
                           const std::string& what, uint32_t least,
                           uint32_t most) {
    flags->add_option(name, *value, what)
        ->check(CLI::Range(least, most))
        ->capture_default_str();
  };
  Machine* const machine = &options->machine;
  add("--channel_queue", &machine->channel_queue,
      "Requests that a channel takes before it makes others wait.", 1, 512);
  add("--call_cycles", &machine->call_cycles,
      "Of the processor, that a call of the library takes.", 0, 10'000);
  add("--path_ns", &options->path_ns, "From a core to the controller.", 0,
      1'000);
  add("--read_ahead", &machine->read_ahead,
      "Lines of the log that retirement reads ahead.", 1, 512);
  add("--victim_sets", &machine->victim_cache.sets,
      "Of the victim cache, of eight lines each.", 1, 65'536);
  add("--retired_together", &machine->retired_together,
      "Wraps that are on their way home at a time.", 1, 128);
}

absl::StatusOr<std::unique_ptr<engine::TransactionalStore>> OpenStoreIn(
    PoolFolder* folder, const std::string& scheme, uint64_t bytes) {
  const std::string path = absl::StrCat(folder->path(), "/recorded");
  ASSIGN_OR_RETURN(OpenedStore opened,
                   OpenForBench({scheme, {}}, path, bytes, Watch::kNothing));
  folder->Unlink();
  return std::move(opened.store);
}

bool Wanted(const Options& options, const std::string& figure) {
  return options.only.empty() ||
         std::any_of(options.only.begin(), options.only.end(),
                     [&figure](const std::string& name) {
                       return name == figure ||
                              (name == kAlsoSeven && figure == "7");
                     });
}

absl::StatusOr<std::vector<Figure>> MakeFigures(const Options& options,
                                                Setting setting) {
  if (!options.trace.empty()) {
    ASSIGN_OR_RETURN(const Trace trace, LoadTrace(options.trace));
    ASSIGN_OR_RETURN(Figure figure, TraceFigure(options.trace, trace, setting));
    return std::vector<Figure>{std::move(figure)};
  }
  ASSIGN_OR_RETURN(const auto folder, PoolFolder::Create(options.folder));
  setting.open_store = [&](uint64_t bytes) {
    return OpenStoreIn(folder.get(), options.store, bytes);
  };
  if (!options.save_traces.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(options.save_traces, failed);
    if (failed) {
      return absl::UnavailableError(absl::StrCat(
          "cannot make ", options.save_traces, ": ", failed.message()));
    }
    setting.keep_trace = [&](const std::string& name, const Trace& trace) {
      return SaveTrace(trace,
                       absl::StrCat(options.save_traces, "/", name, ".trace"));
    };
  }
  const Progress progress = Program::StartProgress();
  std::vector<Figure> figures;
  for (const NamedFigure& named : kFigures) {
    if (!Wanted(options, named.name)) continue;
    progress(absl::StrCat("figure ", named.name));
    ASSIGN_OR_RETURN(Figure figure, named.make(setting));
    figures.push_back(std::move(figure));
  }
  return figures;
}

Facts MakeFacts(const std::vector<Figure>& figures, bool quick) {
  int marks = 0, met = 0;
  for (const Figure& figure : figures) {
    for (const Mark& mark : figure.marks) {
      ++marks;
      if (mark.met) ++met;
    }
  }
  return {{"what", "a model; its times are no measurements"},
          {"scale", quick ? "quick" : "full"},
          {"marks", absl::StrCat(marks)},
          {"marks met", absl::StrCat(met)}};
}

int RunProgram(const Program& program, const Options& options) {
  Setting setting;
  setting.quick = program.quick();
  setting.machine = options.machine;
  setting.machine.path = options.path_ns * kNanosecond;
  const auto figures = MakeFigures(options, setting);
  if (!figures.ok()) {
    return program.Fail(kExitFailed, figures.status().message());
  }
  const Facts facts = MakeFacts(*figures, setting.quick);
  return program.Report(facts, ToJson(facts, *figures), ToText(*figures));
}

}  // namespace
}  // namespace kamino::bench::controller

int main(int argc, char** argv) {
  using namespace kamino::bench;
  Program program("bench-controller",
                  "The figures of WrAP's paper by a model of its memory "
                  "controller.");
  controller::Options options;
  controller::AddFlags(&program.flags(), &options);
  controller::AddMachineFlags(&program.flags(), &options);
  if (const auto code = program.Parse(argc, argv)) return *code;
  return controller::RunProgram(program, options);
}
