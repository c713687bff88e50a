// bench-transport: latency, rate and idle cost of every kind of link, beside a
// bare epoll ping-pong.
//
// Exit codes: 0, 1 when it cannot go on, 2 for bad flags.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "bench/transport/link_subject.h"
#include "bench/transport/race.h"
#include "bench/transport/results.h"
#include "glog/logging.h"
#include "transport/make_transport.h"

ABSL_FLAG(bool, quick, false, "Shorter slices: some ten seconds in all.");
ABSL_FLAG(std::vector<std::string>, links, {},
          "Measure these kinds only, separated by commas: shm, tcp, verbs. By "
          "default all that work here.");
ABSL_FLAG(std::string, verbs_device, "", "RDMA device; by default any.");
ABSL_FLAG(std::vector<std::string>, sizes,
          std::vector<std::string>({"64", "256", "1024", "4096", "65536"}),
          "Sizes of messages, bytes, separated by commas.");
ABSL_FLAG(
    int, rounds, 0,
    "Rounds over all kinds for each size; by default 15, or 5 of the quick "
    "ones.");
ABSL_FLAG(std::string, out, "", "Write the measurements to this file as JSON.");
ABSL_FLAG(bool, json, false, "Print JSON on stdout instead of tables.");

namespace kamino::bench {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

constexpr int kMaxRounds = 1000;
// Longer than any round trip: no end goes to sleep within a measurement.
constexpr absl::Duration kSpin = absl::Milliseconds(1);

int Fail(int code, absl::string_view message) {
  std::cerr << "bench-transport: " << message << "\n";
  return code;
}

// The kinds to measure. Why verbs is not among them goes to `facts`.
absl::StatusOr<std::vector<std::string>> ChooseLinks(
    const transport::VerbsOptions& verbs, Facts* facts) {
  std::vector<std::string> links = absl::GetFlag(FLAGS_links);
  for (const std::string& link : links) {
    if (link != "shm" && link != "tcp" && link != "verbs") {
      return absl::InvalidArgumentError(
          absl::StrCat("--links: there is no kind '", link, "'"));
    }
  }
  const auto port = transport::FindVerbsPort(verbs);
  facts->emplace_back("verbs",
                      port.ok() ? *port : std::string(port.status().message()));
  if (links.empty()) {
    links = {"shm", "tcp"};
    if (port.ok()) links.push_back("verbs");
  } else if (!port.ok() &&
             std::find(links.begin(), links.end(), "verbs") != links.end()) {
    return port.status();
  }
  return links;
}

int Write(const Facts& facts, const std::vector<Row>& rows,
          const std::vector<IdleRow>& idle) {
  const std::string json = ToJson(facts, rows, idle);
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
  std::cout << ToTables(rows, idle);
  return kExitOk;
}

absl::Status Measure(const std::vector<std::string>& links,
                     const transport::TransportOptions& options,
                     const RaceOptions& race, std::vector<Row>* rows,
                     std::vector<IdleRow>* idle) {
  transport::TransportOptions awake = options;
  awake.spin = kSpin;
  std::vector<std::unique_ptr<Subject>> subjects;
  std::vector<SubjectMaker> makers;
  ASSIGN_OR_RETURN(auto bare, MakeBareEpoll());
  subjects.push_back(std::move(bare));
  for (const std::string& link : links) {
    auto subject = MakeLinkSubject(link, awake);
    if (!subject.ok()) {
      return absl::Status(subject.status().code(),
                          absl::StrCat(link, ": ", subject.status().message()));
    }
    subjects.push_back(*std::move(subject));
    makers.push_back(
        [link, options] { return MakeLinkSubject(link, options); });
  }
  const absl::Time begin = absl::Now();
  const auto progress = [begin](const std::string& what) {
    std::cerr << absl::StreamFormat(
        "%6.1f s  %s\n", absl::ToDoubleSeconds(absl::Now() - begin), what);
  };
  RETURN_IF_ERROR(RunRace(subjects, race, progress, rows));
  subjects.clear();
  progress("idle");
  return WatchIdle(makers, race, idle);
}

int Run() {
  const bool quick = absl::GetFlag(FLAGS_quick);
  RaceOptions race;
  race.rounds = absl::GetFlag(FLAGS_rounds);
  if (race.rounds < 0 || race.rounds > kMaxRounds) {
    return Fail(kExitUsage, absl::StrCat("--rounds: 1 to ", kMaxRounds));
  }
  if (race.rounds == 0) race.rounds = quick ? 5 : 15;
  for (const std::string& text : absl::GetFlag(FLAGS_sizes)) {
    size_t size = 0;
    if (!absl::SimpleAtoi(text, &size) || size < kLeastMessage ||
        size > kMostMessage) {
      return Fail(kExitUsage,
                  absl::StrCat("--sizes: each from ", kLeastMessage, " to ",
                               kMostMessage, ", not '", text, "'"));
    }
    race.sizes.push_back(size);
  }
  race.slice = absl::Milliseconds(quick ? 20 : 60);
  race.idle = quick ? absl::Milliseconds(500) : absl::Seconds(2);

  transport::TransportOptions options;
  options.verbs.device = absl::GetFlag(FLAGS_verbs_device);
  Facts facts = {
      {"scale", quick ? "quick" : "full"},
      {"processors", absl::StrCat(std::thread::hardware_concurrency())},
      {"rounds", absl::StrCat(race.rounds)},
      {"slice", absl::FormatDuration(race.slice)},
  };
  auto links = ChooseLinks(options.verbs, &facts);
  if (!links.ok()) return Fail(kExitUsage, links.status().message());
  std::vector<Row> rows;
  std::vector<IdleRow> idle;
  absl::Status measured = Measure(*links, options, race, &rows, &idle);
  if (!measured.ok()) return Fail(kExitFailed, measured.message());
  return Write(facts, rows, idle);
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
      "Measures the kinds of chain links side by side.\n"
      "bench-transport [--quick] [--links=A,B] [--json] [--out=FILE]");
  absl::FlagsUsageConfig usage;
  usage.contains_help_flags = [](absl::string_view file) {
    return absl::EndsWith(file, "bench/transport/main.cc");
  };
  absl::SetFlagsUsageConfig(usage);
  const std::vector<char*> words = absl::ParseCommandLine(argc, argv);
  parsing = false;
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  if (words.size() > 1) {
    std::cerr << "bench-transport: '" << words[1] << "' is not a flag\n";
    return kamino::bench::kExitUsage;
  }
  return kamino::bench::Run();
}
