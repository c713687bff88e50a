#include "client/cli/settings.h"

#include <sys/stat.h>

#include <map>
#include <memory>
#include <utility>

#include "CLI/Validators.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "toml++/toml.h"

namespace kamino::client {
namespace {

constexpr char kGroup[] = "Of all commands";

std::vector<std::string> Addresses(absl::string_view text) {
  return absl::StrSplit(text, ',', absl::SkipEmpty());
}

void AddAddresses(CLI::App* app, const std::string& name,
                  std::vector<std::string>* addresses,
                  const std::string& description) {
  app->add_option_function<std::string>(
         name,
         [addresses](const std::string& text) { *addresses = Addresses(text); },
         description)
      ->type_name("HOST:PORT,...")
      ->group(kGroup);
}

bool IsFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

std::string DefaultConfig(const Environment& environment) {
  std::string folder = environment("XDG_CONFIG_HOME");
  if (folder.empty() && !environment("HOME").empty()) {
    folder = environment("HOME") + "/.config";
  }
  return folder.empty() ? "" : folder + "/kamino/config.toml";
}

absl::Status BadConfig(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
}

absl::Status ReadAddresses(const toml::table& cluster, const char* name,
                           const std::string& path,
                           std::vector<std::string>* addresses) {
  const toml::node* node = cluster.get(name);
  if (node == nullptr || !addresses->empty()) return absl::OkStatus();
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    return BadConfig(path, absl::StrCat(name, " is no array of \"host:port\""));
  }
  for (const toml::node& element : *array) {
    const auto address = element.value<std::string>();
    if (!address.has_value()) {
      return BadConfig(path,
                       absl::StrCat(name, " is no array of \"host:port\""));
    }
    addresses->push_back(*address);
  }
  return absl::OkStatus();
}

absl::Status ReadConfig(const std::string& path, Settings* settings) {
  toml::table config;
  try {
    config = toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    return BadConfig(
        path, absl::StrCat("line ", uint64_t{error.source().begin.line}, ": ",
                           std::string(error.description())));
  }
  std::string name = settings->cluster;
  if (name.empty()) name = config["current"].value_or(std::string());
  if (name.empty()) return absl::OkStatus();
  const toml::table* clusters = config["clusters"].as_table();
  const toml::node* node = clusters == nullptr ? nullptr : clusters->get(name);
  const toml::table* cluster = node == nullptr ? nullptr : node->as_table();
  if (cluster == nullptr) {
    std::vector<std::string> names;
    if (clusters != nullptr) {
      for (const auto& [key, value] : *clusters) names.emplace_back(key.str());
    }
    return BadConfig(
        path,
        absl::StrCat("no cluster ", name, "; it has ",
                     names.empty() ? "none" : absl::StrJoin(names, ", ")));
  }
  settings->cluster = name;
  absl::Status read = ReadAddresses(*cluster, "seeds", path, &settings->seeds);
  if (!read.ok()) return read;
  return ReadAddresses(*cluster, "managers", path, &settings->managers);
}

}  // namespace

void AddSettings(CLI::App* app, Settings* settings) {
  AddAddresses(app, "--seeds", &settings->seeds,
               "Any nodes of the chain [KAMINO_SEEDS].");
  AddAddresses(app, "--managers", &settings->managers,
               "Managers of the cluster [KAMINO_MANAGERS].");
  app->add_option("--cluster", settings->cluster,
                  "A cluster of the configuration file [KAMINO_CLUSTER].")
      ->type_name("NAME")
      ->group(kGroup);
  app->add_option("--config", settings->config,
                  "The configuration file [KAMINO_CONFIG], by default "
                  "~/.config/kamino/config.toml.")
      ->type_name("FILE")
      ->group(kGroup);
  app->add_option_function<std::string>(
         "--timeout",
         [settings](const std::string& text) {
           if (!absl::ParseDuration(text, &settings->timeout) ||
               settings->timeout <= absl::ZeroDuration()) {
             throw CLI::ValidationError(
                 "--timeout",
                 "\"" + text + "\" is no duration such as 500ms or 10s");
           }
         },
         "Of each call, retries included, such as 500ms; 10s by default.")
      ->type_name("DURATION")
      ->group(kGroup);
  static const std::map<std::string, Output> kOutputs = {
      {"table", Output::kTable},
      {"json", Output::kJson},
      {"raw", Output::kRaw}};
  app->add_option_function<std::string>(
         "--output",
         [settings](const std::string& text) {
           settings->output = kOutputs.at(text);
         },
         "table (for people), json (for programs), raw (bytes as they are).")
      ->check(CLI::IsMember({"table", "json", "raw"}, CLI::ignore_case))
      ->type_name("FORM")
      ->group(kGroup);
  app->add_flag_callback(
         "--json", [settings] { settings->output = Output::kJson; },
         "The same as --output=json.")
      ->group(kGroup);
}

absl::Status Complete(const Environment& environment, Settings* settings) {
  // A cluster that is named on the command line goes before the environment's
  // addresses.
  const bool named = !settings->cluster.empty();
  if (!named) {
    if (settings->seeds.empty()) {
      settings->seeds = Addresses(environment("KAMINO_SEEDS"));
    }
    if (settings->managers.empty()) {
      settings->managers = Addresses(environment("KAMINO_MANAGERS"));
    }
    settings->cluster = environment("KAMINO_CLUSTER");
  }
  if (settings->config.empty()) settings->config = environment("KAMINO_CONFIG");
  const bool asked_for = !settings->config.empty();
  if (!asked_for) settings->config = DefaultConfig(environment);
  if (settings->config.empty() || !IsFile(settings->config)) {
    if (!asked_for && settings->cluster.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no configuration file ", settings->config,
        asked_for ? ""
                  : absl::StrCat(", which is to say where cluster ",
                                 settings->cluster, " is")));
  }
  return ReadConfig(settings->config, settings);
}

}  // namespace kamino::client
