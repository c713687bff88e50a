// kamino check: runs kamino_check, which knows the nodes' formats.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/cli.h"
#include "client/cli/program_call.h"

namespace kamino::client {
namespace {

constexpr char kProgram[] = "kamino_check";

// Prefers the program beside this one, which has the same release.
int RunCheck(Cli* cli, const std::string& path) {
  std::vector<std::string> words = {kProgram};
  if (cli->json()) words.emplace_back("--json");
  words.push_back(absl::StartsWith(path, "-") ? "./" + path : path);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string beside = BesideThis(kProgram);
  if (!beside.empty()) execv(beside.c_str(), arguments.data());
  execvp(kProgram, arguments.data());
  return cli->FailUsage(absl::StrCat(
      "cannot run ", kProgram, ": ", strerror(errno),
      "; it comes with the servers (Debian's package kamino-server; in a "
      "checkout, add bazel-bin/node/check to PATH)"));
}

}  // namespace

void AddCheckCommand(CLI::App* app, Cli* cli) {
  auto path = std::make_shared<std::string>();
  CLI::App* check = AddCommand(
      app, cli, "check",
      "Checks the data of a stopped node; changes nothing. Exits with 0 if the "
      "data is sound, 1 if it is not or the report cannot be printed, 2 if the "
      "data cannot be examined.",
      "  kamino check /var/lib/kamino/n1\n  kamino check /dev/dax0.0 --json");
  check->add_option("PATH", *path, "The node's data folder, or its device.")
      ->required()
      ->type_name("");
  check->callback([=] { cli->run = [=] { return RunCheck(cli, *path); }; });
}

}  // namespace kamino::client
