// kamino: the command line of a Kamino chain.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "client/cli/cli.h"
#include "client/cli/completion.h"
#include "client/cli/settings.h"
#include "proto/version.h"

namespace kamino::client {
namespace {

constexpr char kExitCodes[] =
    R"(Words behind -- are taken as they are, and so are numbers such as -5.
Exit codes: 0 done, 1 the service said no, 2 the command line is wrong,
3 nobody answered in time.

kamino help COMMAND tells more, with examples.)";

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The command's part of the app; null when a word names none.
CLI::App* Find(CLI::App* app, const Words& words) {
  for (const std::string& word : words) {
    const auto named = app->get_subcommands(
        [&](const CLI::App* command) { return command->get_name() == word; });
    if (named.empty()) return nullptr;
    app = named[0];
  }
  return app;
}

void AddHelp(CLI::App* app, Cli* cli) {
  auto words = std::make_shared<Words>();
  CLI::App* help = app->add_subcommand("help", "Tells more of a command.");
  help->footer("Examples:\n  kamino help put\n  kamino help admin remove");
  help->add_option("COMMAND", *words, "Its name.")->type_name("");
  help->callback([=] {
    cli->run = [=] {
      CLI::App* command = Find(app, *words);
      if (command == nullptr) {
        return cli->FailUsage("there is no command " + words->back() +
                              "; kamino help lists them");
      }
      std::cout << command->help();
      return kExitOk;
    };
  });
}

void AddCompletion(CLI::App* app, Cli* cli) {
  auto shell = std::make_shared<std::string>();
  CLI::App* completion = app->add_subcommand(
      "completion", "Prints a script that completes kamino's words.");
  completion->footer(
      "Examples:\n"
      "  source <(kamino completion bash)\n"
      "  kamino completion zsh > ~/.zfunc/_kamino    # in a folder of $fpath");
  completion->add_option("SHELL", *shell, "bash or zsh.")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember({"bash", "zsh"}));
  completion->callback([=] {
    cli->run = [=] {
      std::cout << (*shell == "bash" ? BashCompletion(*app)
                                     : ZshCompletion(*app));
      return kExitOk;
    };
  });
}

int FailToParse(const CLI::ParseError& error, const CLI::App& app,
                const Cli& cli) {
  // Help and version are errors to the library.
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    app.exit(error);
    return kExitOk;
  }
  std::string name;
  for (const CLI::App* command : app.get_subcommands()) {
    name = " " + command->get_name();
  }
  return cli.FailUsage(std::string(error.what()) + "; kamino help" + name +
                       " shows how it is right");
}

int Main(int argc, char** argv) {
  Cli cli;
  CLI::App app("Talks to a Kamino chain.", "kamino");
  app.footer(kExitCodes);
  app.set_version_flag("--version", std::string("kamino ") + kVersion);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  AddSettings(&app, &cli.settings());
  AddObjectCommands(&app, &cli);
  AddCommitCommands(&app, &cli);
  AddStatusCommand(&app, &cli);
  AddAdminCommand(&app, &cli);
  AddLoadCommand(&app, &cli);
  AddBenchCommand(&app, &cli);
  AddHelp(&app, &cli);
  AddCompletion(&app, &cli);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return FailToParse(error, app, cli);
  }
  absl::Status complete = Complete(FromEnvironment, &cli.settings());
  if (!complete.ok()) return cli.Fail(complete);
  return cli.run();
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
