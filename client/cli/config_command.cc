// kamino config: the configuration file that the programs of a host share.
#include <sys/stat.h>

#include <cstddef>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Validators.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "client/cli/cli.h"
#include "client/cli/client_config.h"
#include "client/cli/program_call.h"
#include "client/cli/settings.h"
#include "deploy/config/server_examples.h"
#include "google/protobuf/struct.pb.h"

namespace kamino::client {
namespace {

constexpr char kHead[] =
    R"(# Settings of Kamino's programs (docs/operate/configuration.md).
# Each program reads its own section: kamino_node and kamino_manager with
# --config=FILE, kamino with --config=FILE, KAMINO_CONFIG or from
# ~/.config/kamino/config.toml. Flags override the file. A commented value is
# the default, or an example if the setting has no default.
#
# Settings that several programs share may stand here, above all sections:
#cluster_id = "c"
)";

constexpr char kClientHead[] = R"(
# Where the command line finds clusters. `current` belongs above all sections.
[clusters.home]
seeds = ["127.0.0.1:7001"]
managers = ["127.0.0.1:7000"]

# Options of its connections. A cluster may override them.
[client]
)";

// An example value; by default the option's type name.
std::string ExampleOf(const std::string& name, const CLI::Option& option) {
  static const std::map<std::string, std::string> kExamples = {
      {"timeout", "10s"}, {"carrier", "shm"}, {"key_encoding", "raw"}};
  const auto found = kExamples.find(name);
  return found != kExamples.end() ? found->second : option.get_type_name();
}

std::string ClientExample(CLI::App* command) {
  std::string text = kClientHead;
  for (const std::string& name : OptionsOfFiles()) {
    const CLI::Option* option = command->get_option("--" + name);
    const bool flag = option->get_items_expected_max() == 0;
    absl::StrAppend(&text, "\n# ", option->get_description(), "\n#", name,
                    " = ");
    if (flag) {
      absl::StrAppend(&text, "false\n");
    } else {
      absl::StrAppend(&text, "\"", ExampleOf(name, *option), "\"\n");
    }
  }
  return text;
}

std::string Example(CLI::App* command, const std::string& of) {
  if (of == "node") return absl::StrCat(kHead, kNodeExample);
  if (of == "manager") return absl::StrCat(kHead, kManagerExample);
  const std::string current = "current = \"home\"\n";
  const std::string client = ClientExample(command);
  if (of == "client") return absl::StrCat(kHead, current, client);
  return absl::StrCat(kHead, current, kNodeExample, kManagerExample, client);
}

void AddExample(CLI::App* config, Cli* cli) {
  auto of = std::make_shared<std::string>();
  CLI::App* example = AddCommand(
      config, cli, "example",
      "Prints an example of the configuration file: the addresses of a "
      "cluster home, and all other settings as comments.",
      "  kamino config example > /etc/kamino/kamino.toml\n"
      "  kamino config example node");
  example->add_option("PROGRAM", *of, "node, manager or client; without, all.")
      ->type_name("")
      ->check(CLI::IsMember({"node", "manager", "client"}));
  example->callback([=] {
    cli->run = [=] {
      std::cout << Example(example, *of);
      return kExitOk;
    };
  });
}

constexpr absl::Duration kPatience = absl::Seconds(20);

// The server's report on the file, on one line; "": the program is not
// installed. kInvalidArgument: it rejects the file.
absl::StatusOr<std::string> AskServer(const std::string& program,
                                      const std::string& path) {
  const auto said = RunProgram(
      program, {"--check_config_file", absl::StrCat("--config=", path)},
      kPatience);
  if (absl::IsNotFound(said.status())) return std::string();
  RETURN_IF_ERROR(said.status());
  absl::string_view text = absl::StripAsciiWhitespace(said->text);
  absl::ConsumePrefix(&text, absl::StrCat(program, ": "));
  if (said->code == 0) return std::string(text);
  // A release that lacks this flag.
  if (absl::StrContains(text, "command line flag 'check_config_file'")) {
    return std::string();
  }
  return absl::InvalidArgumentError(absl::StrCat(program, ": ", text));
}

// Servers read their file again at SIGHUP, so they accept regular files only.
bool IsRegular(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// The result of a check that found no mistake.
struct Checked {
  struct Server {
    std::string program;
    std::string said;  // the program's report; "": it is not installed
    std::string rest;  // the command that checks the rest
  };
  std::string path;
  bool may_ask = true;  // servers accept such a file
  std::vector<Server> servers;
};

std::string TextOf(const Checked& checked) {
  std::string text = absl::StrCat(
      checked.path, " is valid: all names, and the values for kamino\n");
  if (!checked.may_ask) {
    return absl::StrCat(text,
                        "values for servers were not checked: servers read "
                        "regular files only, and this is none\n");
  }
  std::string files;
  for (const Checked::Server& server : checked.servers) {
    if (server.said.empty()) {
      absl::StrAppend(&text, server.program,
                      ": values were not checked, as the program is not "
                      "installed; on a machine that has it, run: ",
                      server.program, " --config=", checked.path,
                      " --check_config_file\n");
    } else {
      absl::StrAppend(&text, server.program, ": ", server.said, "\n");
    }
    absl::StrAppend(&files, "  ", server.rest, "\n");
  }
  if (files.empty()) return text;
  return absl::StrCat(
      text,
      "not checked: files that it names, and flags of command lines; to check "
      "these, run as the services' users, with their other flags:\n",
      files);
}

google::protobuf::Struct StructOf(const Checked& checked) {
  google::protobuf::Struct whole;
  auto& fields = *whole.mutable_fields();
  fields["file"].set_string_value(checked.path);
  auto& servers = *fields["servers"].mutable_list_value();
  for (const Checked::Server& server : checked.servers) {
    auto& of = *servers.add_values()->mutable_struct_value()->mutable_fields();
    of["program"].set_string_value(server.program);
    of["checked"].set_bool_value(!server.said.empty());
    of["said"].set_string_value(server.said);
    of["rest"].set_string_value(server.rest);
  }
  return whole;
}

int Check(const Cli& cli, const std::string& path) {
  const ServerSettings servers = SettingsOfServers();
  absl::Status checked = CheckConfigFile(path, servers);
  if (!checked.ok()) return cli.Fail(checked);
  const auto of = ServersOf(path, servers, OptionsOfFiles());
  if (!of.ok()) return cli.Fail(of.status());
  Checked result;
  result.path = path;
  result.may_ask = of->empty() || IsRegular(path);
  for (const std::string& server : *of) {
    const std::string program = absl::StrCat("kamino_", server);
    absl::StatusOr<std::string> said = std::string();
    if (result.may_ask) said = AskServer(program, path);
    if (!said.ok()) return cli.Fail(said.status());
    result.servers.push_back(
        {program, *said,
         absl::StrCat(program, " --config=", path, " --check_config")});
  }
  if (cli.json()) {
    PrintJson(StructOf(result));
  } else {
    std::cout << TextOf(result);
  }
  return kExitOk;
}

void AddCheck(CLI::App* config, Cli* cli) {
  auto path = std::make_shared<std::string>();
  CLI::App* check = AddCommand(
      config, cli, "check",
      "Checks a configuration file: all names, the values for kamino, and, "
      "where kamino_node and kamino_manager are installed, the values for "
      "them. Names what it has not checked.",
      "  kamino config check /etc/kamino/kamino.toml\n"
      "  kamino_node --config=/etc/kamino/kamino.toml --check_config");
  check->add_option("FILE", *path, "The file.")->required()->type_name("");
  check->callback([=] { cli->run = [=] { return Check(*cli, *path); }; });
}

}  // namespace

ServerSettings SettingsOfServers() {
  ServerSettings servers;
  for (const char* example : {kNodeExample, kManagerExample}) {
    std::vector<std::string>* names = nullptr;
    for (absl::string_view line : absl::StrSplit(example, '\n')) {
      if (absl::ConsumePrefix(&line, "[")) {
        names = &servers[std::string(absl::StripSuffix(line, "]"))];
        continue;
      }
      absl::ConsumePrefix(&line, "#");
      const size_t end = line.find(" = ");
      // Lines of help begin with a space behind the #.
      if (end == absl::string_view::npos || line[0] == ' ') continue;
      names->emplace_back(line.substr(0, end));
    }
  }
  return servers;
}

void AddConfigCommand(CLI::App* app, Cli* cli) {
  CLI::App* config = app->add_subcommand(
      "config", "Prints or checks the programs' configuration file.");
  config->footer(
      "Examples:\n  kamino config example node\n"
      "  kamino config check /etc/kamino/kamino.toml");
  AddSettings(config, &cli->settings());
  config->require_subcommand(1);
  AddExample(config, cli);
  AddCheck(config, cli);
}

}  // namespace kamino::client
