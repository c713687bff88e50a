// kamino: the command line of a Kamino chain.
#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/standard_files.h"
#include "client/cli/cli.h"
#include "client/cli/completion.h"
#include "client/cli/new_files.h"
#include "client/cli/settings.h"
#include "client/cli/standard_output.h"
#include "client/cli/text.h"
#include "client/trace_scope.h"
#include "config/nearest_name.h"
#include "glog/logging.h"
#include "grpc/support/log.h"
#include "proto/version.h"

namespace kamino::client {
namespace {

constexpr char kExitCodes[] =
    R"(Words after -- are literal, and so are numbers such as -5.
Exit codes: 0 done, 1 the service refused, 2 the command line is wrong,
3 no answer in time.

kamino help COMMAND tells more, with examples.)";

Words CommandsOf(const CLI::App& app) {
  Words names;
  for (const CLI::App* command :
       app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// " (did you mean put?)". Also knows the command names of other stores.
std::string DidYouMeanCommand(const std::string& word, const CLI::App& app) {
  static const std::map<std::string, std::string> kElsewhere = {
      {"set", "put"}, {"delete", "del"}};
  const Words commands = CommandsOf(app);
  const auto ours = kElsewhere.find(word);
  if (ours != kElsewhere.end() &&
      std::count(commands.begin(), commands.end(), ours->second) > 0) {
    return absl::StrCat(" (did you mean ", ours->second, "?)");
  }
  return config::DidYouMean(word, commands);
}

// The command that the first of `words` name. The search ends at a command
// without subcommands: the words after it are its arguments.
struct Found {
  CLI::App* command;
  std::string name;     // " admin"
  std::string unknown;  // the word that should name a command; "": none
};

Found Find(CLI::App* app, const Words& words) {
  Found found = {app, "", ""};
  for (const std::string& word : words) {
    const auto named = found.command->get_subcommands(
        [&](const CLI::App* command) { return command->get_name() == word; });
    if (named.empty()) {
      if (!CommandsOf(*found.command).empty()) found.unknown = word;
      return found;
    }
    found.command = named[0];
    found.name += " " + word;
  }
  return found;
}

void AddHelp(CLI::App* app, Cli* cli) {
  auto words = std::make_shared<Words>();
  CLI::App* help = app->add_subcommand("help", "Shows the help of a command.");
  help->footer("Examples:\n  kamino help put\n  kamino help admin remove");
  AddSettings(help, &cli->settings());
  help->add_option("COMMAND", *words, "The command's name.")->type_name("");
  help->callback([=] {
    cli->run = [=] {
      const Found found = Find(app, *words);
      if (!found.unknown.empty()) {
        return cli->FailUsage(
            absl::StrCat("there is no command", found.name, " ", found.unknown,
                         DidYouMeanCommand(found.unknown, *found.command),
                         "; kamino help", found.name, " lists them"));
      }
      // Uses the formatter, because help() of the app prints the help of the
      // parsed command, which is this one.
      std::cout << found.command->get_formatter()->make_help(
          found.command, "kamino" + found.name, CLI::AppFormatMode::Normal);
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
  AddSettings(completion, &cli->settings());
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

// "save, verify or restore".
std::string Choice(const Words& words) {
  if (words.size() < 2) return absl::StrJoin(words, "");
  return absl::StrCat(absl::StrJoin(words.begin(), words.end() - 1, ", "),
                      " or ", words.back());
}

Words OptionsOf(const CLI::App& app) {
  Words names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

// Explains a parse error that the library reports in its own terms. `command`:
// the command found; `name`: its words after "kamino".
std::string WhyNotParsed(const CLI::ParseError& error, const CLI::App& command,
                         const std::string& name) {
  const std::string whole = "kamino" + name;
  const Words left = command.remaining();
  const bool wants_command = command.get_require_subcommand_min() > 0;
  for (const std::string& word : left) {
    // A word in the place of a command is a mistyped command.
    if (wants_command && word[0] != '-') {
      return absl::StrCat("there is no command", name, " ", word,
                          DidYouMeanCommand(word, command));
    }
  }
  if (!left.empty() && absl::StartsWith(left[0], "-")) {
    return absl::StrCat(whole, " has no option ", left[0],
                        config::DidYouMean(left[0].substr(0, left[0].find('=')),
                                           OptionsOf(command)));
  }
  if (!left.empty()) {
    return absl::StrCat(whole, " takes no further word: ", left[0]);
  }
  if (wants_command && command.get_subcommands().empty()) {
    return absl::StrCat(whole,
                        " needs a command: ", Choice(CommandsOf(command)));
  }
  std::string what = error.what();
  // "--seeds: 1 required HOST:PORT,... missing"
  constexpr char kNoValue[] = ": 1 required ";
  constexpr char kMissing[] = " missing";
  const size_t no_value = what.find(kNoValue);
  if (no_value != std::string::npos && absl::EndsWith(what, kMissing)) {
    absl::string_view type = what;
    type.remove_prefix(no_value + sizeof(kNoValue) - 1);
    absl::ConsumeSuffix(&type, kMissing);
    return absl::StrCat(what.substr(0, no_value), " needs a value: ", type);
  }
  // "--output: At Most 1 required but received 2"
  constexpr char kTwice[] = ": At Most 1 required but received ";
  const size_t twice = what.find(kTwice);
  if (twice != std::string::npos) {
    const std::string times = what.substr(twice + sizeof(kTwice) - 1);
    return absl::StrCat(what.substr(0, twice), " is given ",
                        times == "2" ? "twice" : absl::StrCat(times, " times"),
                        "; give it once");
  }
  // "--keys: Value 1 not in range 2 to 10"
  constexpr char kValue[] = ": Value ";
  constexpr char kRange[] = " not in range ";
  const size_t value = what.find(kValue);
  const size_t range = what.rfind(kRange);
  if (value != std::string::npos && range != std::string::npos) {
    const size_t begin = value + sizeof(kValue) - 1;
    return absl::StrCat(what.substr(0, value), " is ",
                        what.substr(begin, range - begin), "; it must be from ",
                        what.substr(range + sizeof(kRange) - 1));
  }
  const size_t choice = what.find(" not in {");
  if (choice == std::string::npos || what.back() != '}') return what;
  const std::string words = what.substr(choice + 9);
  return absl::StrCat(
      what.substr(0, choice), " is none of ",
      absl::StrReplaceAll(words.substr(0, words.size() - 1), {{",", ", "}}));
}

int FailToParse(const CLI::ParseError& error, const CLI::App& app,
                const Cli& cli) {
  // To the library, help and version are errors.
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    app.exit(error);
    return kExitOk;
  }
  std::string name;
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  return cli.FailUsage(absl::StrCat(WhyNotParsed(error, *command, name),
                                    "; see kamino help", name));
}

bool TakesValue(const CLI::App& app, const std::string& word) {
  const CLI::Option* option = app.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_max() > 0;
}

// Whether the command is commit: the first word that belongs to no option.
bool IsCommit(const CLI::App& app, const Words& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (!absl::StartsWith(words[i], "-")) return words[i] == "commit";
    if (TakesValue(app, words[i])) ++i;
  }
  return false;
}

// Prepares the command line for the library, which accepts no words after --
// for a command without named arguments, such as commit: they are kept aside.
// It would also read --name= as an option whose value is the next word.
Words WordsToParse(const CLI::App& app, Words words, Words* literal) {
  const auto mark = std::find(words.begin(), words.end(), "--");
  Words parsed;
  for (auto word = words.begin(); word != mark; ++word) {
    if (IsOptionWithoutValue(*word)) {
      parsed.push_back(word->substr(0, word->size() - 1));
      parsed.emplace_back();
    } else {
      parsed.push_back(*word);
    }
  }
  if (IsCommit(app, parsed) && mark != words.end()) {
    literal->assign(mark + 1, words.end());
  } else {
    parsed.insert(parsed.end(), mark, words.end());
  }
  return parsed;
}

int Run(int argc, char** argv, Cli& cli) {
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
  AddBackupCommand(&app, &cli);
  AddCheckCommand(&app, &cli);
  AddConfigCommand(&app, &cli);
  AddDebugCommand(&app, &cli);
  AddCertCommand(&app, &cli);
  AddHelp(&app, &cli);
  AddCompletion(&app, &cli);
  const Words typed(argv + 1, argv + argc);
  try {
    Words words = WordsToParse(app, typed, &cli.literal_words());
    std::reverse(words.begin(), words.end());  // as parse() wants them
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    // The library may have failed before it came to the option.
    if (AskForJson(typed)) cli.settings().output = Output::kJson;
    return FailToParse(error, app, cli);
  }
  cli.settings().servers = SettingsOfServers();
  const char* const trace = std::getenv("TRACEPARENT");
  const TraceScope scope(trace == nullptr ? "" : trace);
  return cli.run();
}

int Main(int argc, char** argv) {
  Cli cli;
  StandardOutput output;
  const int code = Run(argc, argv, cli);
  std::cout.flush();
  if (output.error() == 0) return code;
  // A put has committed, for example, and must not be repeated for its output.
  return cli.Fail(absl::FailedPreconditionError(absl::StrCat(
      "cannot write to standard output: ", WhyNotWritten(output.error()),
      code == 0 ? "; everything else the command does succeeded" : "")));
}

}  // namespace
}  // namespace kamino::client

int main(int argc, char** argv) {
  kamino::OccupyStandardFiles();
  // A file at its size limit or a pipe without a reader then fails the write,
  // which the command reports; the signals would end it silently.
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  // The command reports an error once. gRPC would also log it, and attempts
  // that succeeded at the second try.
  if (std::getenv("GRPC_VERBOSITY") == nullptr) {
    gpr_set_log_function([](gpr_log_func_args*) {});
    FLAGS_minloglevel = google::GLOG_FATAL;
  }
  const int code = kamino::client::Main(argc, argv);
  std::cout.flush();
  std::cerr.flush();
  // gRPC threads may still be releasing the last call, so the static objects
  // that they use must not be destroyed.
  std::_Exit(code);
}
