#include "client/cli/settings.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "CLI/Validators.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/address.h"
#include "base/status_macros.h"
#include "toml++/toml.h"

namespace kamino::client {
namespace {

constexpr char kGroup[] = "Of all commands";

// Of "host:port,...".
absl::StatusOr<std::vector<std::string>> Addresses(absl::string_view from,
                                                   absl::string_view text) {
  auto addresses = SplitAddresses(text);
  if (addresses.ok()) return addresses;
  return absl::InvalidArgumentError(
      absl::StrCat(from, ": ", addresses.status().message()));
}

// An option without a value, as of a variable that is not set, would be no
// option at all.
CLI::Validator NotEmpty() {
  return CLI::Validator(
      [](std::string& text) {
        return std::string(text.empty() ? "its value is empty" : "");
      },
      "");
}

void AddAddresses(CLI::App* app, const std::string& name,
                  std::vector<std::string>* addresses,
                  const std::string& description) {
  app->add_option_function<std::string>(
         name,
         [addresses, name](const std::string& text) {
           auto parsed = Addresses(name, text);
           if (!parsed.ok()) {
             throw CLI::ValidationError(std::string(parsed.status().message()));
           }
           if (parsed->empty()) {
             throw CLI::ValidationError(name, "it names no address");
           }
           *addresses = *std::move(parsed);
         },
         description)
      ->type_name("HOST:PORT,...")
      ->group(kGroup);
}

enum class Kind { kFile, kFolder, kNothing };

Kind KindOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return Kind::kNothing;
  if (S_ISDIR(info.st_mode)) return Kind::kFolder;
  return S_ISREG(info.st_mode) ? Kind::kFile : Kind::kNothing;
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

// A mistyped key would be no key at all.
absl::Status CheckKeys(const toml::table& table, absl::string_view what,
                       const std::vector<std::string>& known,
                       const std::string& path) {
  for (const auto& [key, value] : table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) {
      continue;
    }
    return BadConfig(
        path, absl::StrCat("line ", uint64_t{key.source().begin.line}, ": ",
                           what, " has no key ", std::string(key.str()),
                           ", but ", absl::StrJoin(known, " and ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ReadAddresses(
    const toml::table& cluster, const char* name, const std::string& path) {
  const auto bad = [&](absl::string_view why) {
    return BadConfig(path, absl::StrCat(name, " is no array of \"host:port\"",
                                        why.empty() ? "" : ": ", why));
  };
  std::vector<std::string> addresses;
  const toml::node* node = cluster.get(name);
  if (node == nullptr) return addresses;
  const toml::array* array = node->as_array();
  if (array == nullptr) return bad("");
  for (const toml::node& element : *array) {
    const auto address = element.value<std::string>();
    if (!address.has_value()) return bad("");
    addresses.emplace_back(absl::StripAsciiWhitespace(*address));
    const absl::Status checked = CheckAddress(addresses.back());
    if (!checked.ok()) return bad(checked.message());
  }
  return addresses;
}

// The cluster of that name, or of `current`, and its name; null when neither
// names one.
absl::StatusOr<const toml::table*> FindCluster(const toml::table& config,
                                               const std::string& path,
                                               std::string* name) {
  RETURN_IF_ERROR(CheckKeys(config, "the file", {"current", "clusters"}, path));
  if (name->empty() && config.contains("current")) {
    const auto current = config["current"].value<std::string>();
    if (!current.has_value()) return BadConfig(path, "current is no name");
    *name = *current;
  }
  if (name->empty()) return nullptr;
  const toml::table* clusters = config["clusters"].as_table();
  const toml::node* node = clusters == nullptr ? nullptr : clusters->get(*name);
  const toml::table* cluster = node == nullptr ? nullptr : node->as_table();
  if (cluster != nullptr) {
    RETURN_IF_ERROR(CheckKeys(*cluster, absl::StrCat("cluster ", *name),
                              {"seeds", "managers"}, path));
    return cluster;
  }
  std::vector<std::string> names;
  if (clusters != nullptr) {
    for (const auto& [key, value] : *clusters) names.emplace_back(key.str());
  }
  return BadConfig(
      path, absl::StrCat("no cluster ", *name, "; it has ",
                         names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

// Fills in a cluster's addresses, and its name where the file says it; neither
// when no cluster is named.
absl::Status ReadConfig(const std::string& path, std::string* cluster,
                        Settings* settings) {
  toml::table config;
  try {
    config = toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    return BadConfig(
        path, absl::StrCat("line ", uint64_t{error.source().begin.line}, ": ",
                           std::string(error.description())));
  }
  ASSIGN_OR_RETURN(auto found, FindCluster(config, path, cluster));
  if (found == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(settings->seeds, ReadAddresses(*found, "seeds", path));
  ASSIGN_OR_RETURN(settings->managers, ReadAddresses(*found, "managers", path));
  return absl::OkStatus();
}

bool Knows(const Settings& settings) {
  return !settings.seeds.empty() || !settings.managers.empty();
}

absl::Status ReadEnvironment(const Environment& environment,
                             Settings* settings) {
  ASSIGN_OR_RETURN(settings->seeds,
                   Addresses("KAMINO_SEEDS", environment("KAMINO_SEEDS")));
  ASSIGN_OR_RETURN(
      settings->managers,
      Addresses("KAMINO_MANAGERS", environment("KAMINO_MANAGERS")));
  return absl::OkStatus();
}

// From a cluster of the configuration file; `cluster`: its name, "": current.
absl::Status LocateCluster(std::string cluster, const Environment& environment,
                           Settings* settings) {
  std::string path = settings->config;
  if (path.empty()) path = environment("KAMINO_CONFIG");
  const bool asked_for = !path.empty();
  if (!asked_for) path = DefaultConfig(environment);
  const Kind kind = KindOf(path);
  if (kind == Kind::kFile) {
    RETURN_IF_ERROR(ReadConfig(path, &cluster, settings));
    if (!cluster.empty()) {
      settings->located_by = absl::StrCat("cluster ", cluster, " of ", path);
    } else if (!settings->config.empty()) {
      return BadConfig(path,
                       "no cluster is its current one; name one by --cluster");
    }
    return absl::OkStatus();
  }
  if (!asked_for && cluster.empty()) return absl::OkStatus();
  if (kind == Kind::kFolder) {
    return BadConfig(path, "is a folder, not a configuration file");
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no configuration file ", path,
      asked_for
          ? ""
          : absl::StrCat(", which is to say where cluster ", cluster, " is")));
}

absl::Status Find(const Environment& environment, Settings* settings) {
  std::string* const by = &settings->located_by;
  if (!by->empty()) return absl::OkStatus();
  if (Knows(*settings)) {
    if (!settings->cluster.empty() || !settings->config.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          settings->cluster.empty() ? "--config" : "--cluster",
          " says where the cluster is, and so do --seeds and --managers: "
          "either it or them"));
    }
    *by = "the command line";
    return absl::OkStatus();
  }
  if (!settings->cluster.empty()) {
    return LocateCluster(settings->cluster, environment, settings);
  }
  // What is typed goes before what is exported.
  if (settings->config.empty()) {
    RETURN_IF_ERROR(ReadEnvironment(environment, settings));
    if (Knows(*settings)) {
      *by = "the environment";
      return absl::OkStatus();
    }
  }
  return LocateCluster(environment("KAMINO_CLUSTER"), environment, settings);
}

}  // namespace

void AddSettings(CLI::App* app, Settings* settings) {
  AddAddresses(app, "--seeds", &settings->seeds,
               "Any nodes of the chain [KAMINO_SEEDS].");
  AddAddresses(app, "--managers", &settings->managers,
               "Managers of the cluster [KAMINO_MANAGERS].");
  app->add_option("--cluster", settings->cluster,
                  "A cluster of the configuration file [KAMINO_CLUSTER].")
      ->check(NotEmpty())
      ->type_name("NAME")
      ->group(kGroup);
  app->add_option("--config", settings->config,
                  "The configuration file [KAMINO_CONFIG], by default "
                  "~/.config/kamino/config.toml.")
      ->check(NotEmpty())
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
  app->add_option("--carrier", settings->carrier,
                  "What a session goes by: shm, verbs, tcp or grpc, by default "
                  "the best there is; unary: no session.")
      ->check(CLI::IsMember({"shm", "verbs", "tcp", "grpc", "unary"}))
      ->type_name("KIND")
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
      ->check(CLI::IsMember({"table", "json", "raw"}))
      ->type_name("FORM")
      ->group(kGroup);
  auto* json = app->add_flag_callback(
      "--json", [settings] { settings->output = Output::kJson; },
      "The same as --output=json.");
  json->group(kGroup);
  app->add_flag_callback(
         "--raw", [settings] { settings->output = Output::kRaw; },
         "The same as --output=raw.")
      ->group(kGroup)
      ->excludes(json);
}

absl::Status Locate(Place wanted, const Environment& environment,
                    Settings* settings) {
  RETURN_IF_ERROR(Find(environment, settings));
  const bool chain = wanted == Place::kChain;
  if (!(chain ? settings->seeds : settings->managers).empty()) {
    return absl::OkStatus();
  }
  if (settings->located_by.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        chain ? "where is the chain? Set --seeds=host:port,... or KAMINO_SEEDS"
              : "where are the managers? Set --managers=host:port,... or "
                "KAMINO_MANAGERS",
        ", or name a cluster of the configuration file by --cluster"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      settings->located_by, " names no ", chain ? "seeds" : "managers",
      "; seeds and managers are taken from one place"));
}

}  // namespace kamino::client
