// bench-schemes: the figures of the schemes' papers that bench-engine does not
// have. lab/schemes/schemes.py runs both.
//
// Exit codes: 0, 1 when it cannot go on, 2 for bad flags, 128 and the signal
// after SIGINT or SIGTERM. Pool files are gone in every case.
#include <fstream>
#include <iostream>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/engine/pool_folder.h"
#include "bench/harness/clock.h"
#include "bench/harness/program.h"
#include "lab/schemes/crash.h"
#include "lab/schemes/part.h"
#include "lab/schemes/results.h"

namespace kamino::bench::schemes {
namespace {

constexpr int kMaxRounds = 1000;

struct Options {
  std::string only;
  std::vector<std::string> schemes = {"kamino-simple", "kamino-dynamic",
                                      "undo-object",   "undo-own",
                                      "cow",           "rewind-1-noforce-batch",
                                      "wrap",          "archapt",
                                      "unsafe",        "unsafe-each",
                                      "cached"};
  std::string folder = "/dev/shm";
  int rounds = 5;
  bool list = false;
  std::string crash;
};

std::string CheckStore(const std::string& name) {
  const auto store = StoreNamed(name);
  return store.ok() ? "" : std::string(store.status().message());
}

void AddFlags(CLI::App* flags, Options* options) {
  flags
      ->add_option("--only", options->only,
                   "Run the parts whose name this regular expression matches "
                   "a part of.")
      ->check(CheckRegex);
  flags
      ->add_option("--schemes", options->schemes,
                   "The stores that parts about all of them are about, "
                   "separated by commas. Parts about REWIND, WrAP and Archapt "
                   "have rivals of their own, and are left out where no "
                   "store of the scheme is named.")
      ->delimiter(',')
      ->check(CheckStore)
      ->capture_default_str();
  flags
      ->add_option("--folder", options->folder,
                   "Where pool files are put, in a fresh folder that is "
                   "removed.")
      ->capture_default_str();
  flags
      ->add_option("--rounds", options->rounds,
                   "Rounds over all stores for each measurement.")
      ->check(CLI::Range(1, kMaxRounds))
      ->capture_default_str();
  flags->add_flag("--list", options->list,
                  "Print what would be measured, and exit.");
  // For the process that is to be killed.
  flags->add_option("--crash", options->crash)->group("");
}

int Crash(const Program& program, const std::string& word) {
  const auto plan = FromWord(word);
  if (!plan.ok()) return program.Fail(kExitUsage, plan.status().message());
  return program.Fail(kExitFailed, FillAndWait(*plan).message());
}

std::vector<Part> Chosen(const Options& flags, const Setting& setting) {
  const std::regex only(flags.only);
  std::vector<Part> parts;
  for (const Part& part : AllParts()) {
    if (std::regex_search(part.name, only) && setting.Wants(part)) {
      parts.push_back(part);
    }
  }
  return parts;
}

int Run(const Program& program, const Options& flags) {
  if (!flags.crash.empty()) return Crash(program, flags.crash);
  Setting setting;
  for (const std::string& name : flags.schemes) {
    setting.stores.push_back(*StoreNamed(name));
  }
  const std::vector<Part> parts = Chosen(flags, setting);
  if (parts.empty()) {
    return program.Fail(
        kExitUsage,
        absl::StrCat(
            "--only and --schemes leave nothing to measure",
            HasPmemShim() ? " for which libpmemobj has to be watched" : ""));
  }
  if (flags.list) {
    for (const Part& part : parts) {
      std::cout << part.name << ": " << part.about << "\n";
    }
    return kExitOk;
  }
  auto folder = PoolFolder::Create(flags.folder);
  if (!folder.ok()) {
    return program.Fail(kExitFailed, folder.status().message());
  }
  std::vector<Point> points;
  setting.quick = program.quick();
  setting.rounds = flags.rounds;
  setting.folder = folder->get();
  setting.progress = Program::StartProgress();
  setting.points = &points;
  for (const Part& part : parts) {
    setting.progress(absl::StrCat(part.name, ": ", part.about));
    if (absl::Status done = part.run(setting); !done.ok()) {
      return program.Fail(kExitFailed,
                          absl::StrCat(part.name, ": ", done.message()));
    }
  }
  const Facts facts = {
      {"scale", setting.quick ? "quick" : "full"},
      {"medium", flags.folder},
      {"rounds", absl::StrCat(flags.rounds)},
      {"libpmemobj", HasPmemShim() ? "watched" : "as it is"},
  };
  return program.Report(facts, ToJson(facts, points), ToTable(points));
}

}  // namespace
}  // namespace kamino::bench::schemes

int main(int argc, char** argv) {
  using namespace kamino::bench;
  Program program("bench-schemes",
                  "Measures what the atomicity schemes' papers have figures "
                  "of.");
  schemes::Options options;
  schemes::AddFlags(&program.flags(), &options);
  if (const auto code = program.Parse(argc, argv)) return *code;
  return schemes::Run(program, options);
}
