// kamino: the command line of a Kamino chain.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "client/cli/cli.h"
#include "client/client.h"

ABSL_FLAG(std::string, seeds, "",
          "host:port,... of any nodes of the chain; by default the environment "
          "variable KAMINO_SEEDS.");
ABSL_FLAG(bool, json, false, "Print JSON.");
ABSL_FLAG(absl::Duration, timeout, absl::Seconds(10),
          "Of each call, retries included, such as 500ms or 10s.");

namespace kamino::client {
namespace {

constexpr char kUsage[] =
    R"(Talks to a Kamino chain.

  kamino get KEY [--offset=N] [--length=N]   read an object, or bytes of it
  kamino put KEY VALUE | put KEY --file=PATH write a whole object
  kamino patch KEY OFFSET DATA               overwrite bytes in place
  kamino del KEY                             remove an object
  kamino scan [START [END]] [--prefix=P] [--limit=N] [--keys_only]
  kamino commit [if CONDITION]... then OPERATION... [else OPERATION...]
      conditions: exists K, absent K, version K N, value K TEXT,
                  unchanged START END SEQUENCE
      operations: put K V, patch K OFFSET DATA, del K, get K
  kamino call PROCEDURE ARGUMENTS            run a procedure, atomically
  kamino outcome CLIENT_ID NUMBER [SINCE]    what became of a mutation
  kamino status [--watch]                    the chain as a table
  kamino admin status                        as its manager sees the cluster
  kamino admin remove NODE | drain NODE      take a node out of the chain, now
                                             or once another has its place
  kamino admin add NODE                      let it join again
  kamino load dpkg [FILE] | load tsv FILE    one object for each record
  kamino bench transfer|put|get [--count=N] [--outstanding=N]

Flags of all commands: --seeds=host:port,... (or KAMINO_SEEDS), --json,
--timeout=10s; admin: --managers=host:port,... (or KAMINO_MANAGERS).
Words after -- are taken as they are.

Exit codes: 0 done, 1 the service said no, 2 the command line is wrong,
3 nobody answered in time.)";

using Command = int (*)(const Cli&, const Words&);

Command FindCommand(const std::string& name) {
  static const struct {
    const char* name;
    Command run;
  } kCommands[] = {
      {"get", RunGet},    {"put", RunPut},       {"patch", RunPatch},
      {"del", RunDelete}, {"scan", RunScan},     {"commit", RunCommit},
      {"call", RunCall},  {"status", RunStatus}, {"outcome", RunOutcome},
      {"load", RunLoad},  {"bench", RunBench},
  };
  for (const auto& command : kCommands) {
    if (name == command.name) return command.run;
  }
  return nullptr;
}

// Abseil ends the process with 1 for bad flags and for --help.
bool parsing_flags = false;

Words ParseFlags(int argc, char** argv) {
  for (int i = 1; i < argc && std::string(argv[i]) != "--"; ++i) {
    if (std::string(argv[i]) == "--help" || std::string(argv[i]) == "-h") {
      std::cout << kUsage << "\n";
      std::exit(kExitOk);
    }
  }
  std::atexit([] {
    if (!parsing_flags) return;
    std::fflush(nullptr);
    _exit(kExitUsage);
  });
  absl::SetProgramUsageMessage(kUsage);
  parsing_flags = true;
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  parsing_flags = false;
  return Words(rest.begin() + 1, rest.end());
}

std::vector<std::string> Seeds() {
  std::string seeds = absl::GetFlag(FLAGS_seeds);
  const char* environment = std::getenv("KAMINO_SEEDS");
  if (seeds.empty() && environment != nullptr) seeds = environment;
  return absl::StrSplit(seeds, ',', absl::SkipEmpty());
}

int Main(int argc, char** argv) {
  Words words = ParseFlags(argc, argv);
  if (!words.empty() && words[0] == "admin") {
    words.erase(words.begin());
    return RunAdmin(absl::GetFlag(FLAGS_json), words);
  }
  const Command command = words.empty() ? nullptr : FindCommand(words[0]);
  if (command == nullptr) {
    std::cerr << "kamino: "
              << (words.empty() ? "no command" : "no command " + words[0])
              << "; kamino --help lists them\n";
    return kExitUsage;
  }
  words.erase(words.begin());
  ClientOptions options;
  options.seeds = Seeds();
  options.timeout = absl::GetFlag(FLAGS_timeout);
  if (options.seeds.empty()) {
    std::cerr << "kamino: where is the chain? Set --seeds=host:port,... or "
                 "KAMINO_SEEDS\n";
    return kExitUsage;
  }
  auto client = Client::Connect(std::move(options));
  if (!client.ok()) return Fail(client.status());
  return command(Cli{client->get(), absl::GetFlag(FLAGS_json)}, words);
}

}  // namespace
}  // namespace kamino::client

int main(int argc, char** argv) {
  const int code = kamino::client::Main(argc, argv);
  std::cout.flush();
  std::cerr.flush();
  // Threads of gRPC's may still be letting go of the last call: the static
  // objects that they use stay.
  std::_Exit(code);
}
