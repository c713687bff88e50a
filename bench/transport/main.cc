// bench-transport: latency, rate and idle cost of every kind of link, beside a
// bare epoll ping-pong.
//
// Exit codes: 0, 1 when it cannot go on, 2 for bad flags.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/harness/program.h"
#include "bench/transport/link_subject.h"
#include "bench/transport/own_certificates.h"
#include "bench/transport/race.h"
#include "bench/transport/results.h"
#include "transport/shm/shm_transport.h"
#include "transport/tcp/tcp_transport.h"
#include "transport/verbs/choose_port.h"
#include "transport/verbs/ibverbs_device.h"
#include "transport/verbs/local_rendezvous.h"
#include "transport/verbs/verbs_transport.h"

namespace kamino::bench {
namespace {

constexpr int kMaxRounds = 1000;
// Longer than any round trip: no end goes to sleep within a measurement.
constexpr absl::Duration kSpin = absl::Milliseconds(1);

struct Options {
  std::vector<std::string> links;
  std::string verbs_device;
  std::vector<size_t> sizes = {64, 256, 1024, 4096, 65536};
  std::optional<int> rounds;
};

void AddFlags(CLI::App* flags, Options* options) {
  flags
      ->add_option("--links", options->links,
                   "Measure these kinds only, separated by commas; tls is tcp "
                   "by TLS. By default all that work here.")
      ->delimiter(',')
      ->check(CLI::IsMember({"shm", "tcp", "tls", "verbs"}));
  flags->add_option("--verbs_device", options->verbs_device,
                    "RDMA device; by default any.");
  flags
      ->add_option("--sizes", options->sizes,
                   "Sizes of messages, bytes, separated by commas.")
      ->delimiter(',')
      ->check(CLI::Range(kLeastMessage, kMostMessage))
      ->capture_default_str();
  flags
      ->add_option("--rounds", options->rounds,
                   "Rounds over all kinds for each size (default: 15; --quick: "
                   "5).")
      ->check(CLI::Range(1, kMaxRounds));
}

// The kinds to measure. Why verbs is not among them goes to `facts`.
absl::StatusOr<std::vector<std::string>> ChooseLinks(
    std::vector<std::string> links, const transport::PortWish& verbs,
    Facts* facts) {
  const auto port = transport::OpenPort(transport::SystemVerbs().get(), verbs);
  facts->emplace_back("verbs", port.ok()
                                   ? Describe(port->choice)
                                   : std::string(port.status().message()));
  if (links.empty()) {
    links = {"shm", "tcp", "tls"};
    if (port.ok()) links.push_back("verbs");
  } else if (!port.ok() &&
             std::find(links.begin(), links.end(), "verbs") != links.end()) {
    return port.status();
  }
  return links;
}

// `link` is one that ChooseLinks chose.
SubjectMaker MakerOf(const std::string& link, const transport::PortWish& verbs,
                     transport::TransportOptions options) {
  const bool tcp = link == "tcp" || link == "tls";
  const transport::TransportFactory factory =
      tcp ? transport::TcpTransports()
      : link == "shm"
          ? transport::ShmTransports()
          : transport::VerbsTransports(
                {verbs, std::make_shared<transport::LocalRendezvous>(),
                 transport::SystemVerbs()});
  const std::string address =
      tcp ? "127.0.0.1:0" : absl::StrCat("bench", getpid());
  if (link != "tls") {
    return [=] { return MakeLinkSubject(link, factory, address, options); };
  }
  return [=]() -> absl::StatusOr<std::unique_ptr<Subject>> {
    transport::TransportOptions by_tls = options;
    ASSIGN_OR_RETURN(by_tls.certificates, MakeOwnCertificates());
    return MakeLinkSubject(link, factory, address, by_tls);
  };
}

absl::Status Measure(const std::vector<std::string>& links,
                     const transport::PortWish& verbs, const RaceOptions& race,
                     std::vector<Row>* rows, std::vector<IdleRow>* idle) {
  transport::TransportOptions awake;
  awake.spin = kSpin;
  std::vector<std::unique_ptr<Subject>> subjects;
  std::vector<SubjectMaker> makers;
  ASSIGN_OR_RETURN(auto bare, MakeBareEpoll());
  subjects.push_back(std::move(bare));
  for (const std::string& link : links) {
    auto subject = MakerOf(link, verbs, awake)();
    if (!subject.ok()) {
      return absl::Status(subject.status().code(),
                          absl::StrCat(link, ": ", subject.status().message()));
    }
    subjects.push_back(*std::move(subject));
    makers.push_back(MakerOf(link, verbs, {}));
  }
  const Progress progress = Program::StartProgress();
  RETURN_IF_ERROR(RunRace(subjects, race, progress, rows));
  subjects.clear();
  progress("idle");
  return WatchIdle(makers, race, idle);
}

int Run(const Program& program, const Options& flags) {
  const bool quick = program.quick();
  RaceOptions race;
  race.rounds = flags.rounds.value_or(quick ? 5 : 15);
  race.sizes = flags.sizes;
  race.slice = absl::Milliseconds(quick ? 20 : 60);
  race.idle = quick ? absl::Milliseconds(500) : absl::Seconds(2);

  transport::PortWish verbs;
  verbs.device = flags.verbs_device;
  Facts facts = {
      {"scale", quick ? "quick" : "full"},
      {"processors", absl::StrCat(std::thread::hardware_concurrency())},
      {"rounds", absl::StrCat(race.rounds)},
      {"slice", absl::FormatDuration(race.slice)},
  };
  auto links = ChooseLinks(flags.links, verbs, &facts);
  if (!links.ok()) return program.Fail(kExitUsage, links.status().message());
  std::vector<Row> rows;
  std::vector<IdleRow> idle;
  absl::Status measured = Measure(*links, verbs, race, &rows, &idle);
  if (!measured.ok()) return program.Fail(kExitFailed, measured.message());
  return program.Report(facts, ToJson(facts, rows, idle), ToTables(rows, idle));
}

}  // namespace
}  // namespace kamino::bench

int main(int argc, char** argv) {
  using namespace kamino::bench;
  Program program("bench-transport",
                  "Measures the kinds of chain links side by side.");
  Options options;
  AddFlags(&program.flags(), &options);
  if (const auto code = program.Parse(argc, argv)) return *code;
  return Run(program, options);
}
