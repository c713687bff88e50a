// kamino config: the configuration file that the programs of a host share.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Validators.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/cli/cli.h"
#include "client/cli/client_config.h"
#include "client/cli/settings.h"
#include "deploy/config/server_examples.h"

namespace kamino::client {
namespace {

constexpr char kHead[] =
    R"(# Settings of Kamino's programs; docs/configuration.md. Each reads its
# section: kamino_node and kamino_manager with --config=FILE, kamino with
# --config=FILE, KAMINO_CONFIG or as ~/.config/kamino/config.toml. The command
# line goes before it. What stands behind a # is what holds without it.
#
# What several of them have may stand here, above all sections, once, such as
#cluster_id = "c"
)";

constexpr char kClientHead[] = R"(
# Where the command line finds clusters. `current` belongs above all sections.
[clusters.home]
seeds = ["127.0.0.1:7001"]
managers = ["127.0.0.1:7000"]

# How it speaks to them. A cluster may have its own of these.
[client]
)";

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
      absl::StrAppend(&text, "\"", option->get_type_name(), "\"\n");
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
      "Prints a configuration file with all that there is, as comments.",
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

void AddCheck(CLI::App* config, Cli* cli) {
  auto path = std::make_shared<std::string>();
  CLI::App* check = AddCommand(
      config, cli, "check",
      "Checks the names in a configuration file, and what is for kamino. What "
      "values servers take, kamino_node and kamino_manager say with "
      "--check_config.",
      "  kamino config check /etc/kamino/kamino.toml\n"
      "  kamino_node --config=/etc/kamino/kamino.toml --check_config");
  check->add_option("FILE", *path, "The file.")->required()->type_name("");
  check->callback([=] {
    cli->run = [=] {
      const absl::Status checked = CheckConfigFile(*path, SettingsOfServers());
      if (!checked.ok()) return cli->Fail(checked);
      std::cout << *path << " is right\n";
      return kExitOk;
    };
  });
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
  CLI::App* config =
      app->add_subcommand("config", "The programs' configuration file.");
  config->footer(
      "Examples:\n  kamino config example node\n"
      "  kamino config check /etc/kamino/kamino.toml");
  AddSettings(config, &cli->settings());
  config->require_subcommand(1);
  AddExample(config, cli);
  AddCheck(config, cli);
}

}  // namespace kamino::client
