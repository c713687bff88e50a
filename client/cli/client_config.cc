#include "client/cli/client_config.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/address.h"
#include "base/status_macros.h"
#include "client/cli/piped_config.h"
#include "config/nearest_name.h"
#include "config/toml_file.h"

namespace kamino::client {
namespace {

using config::BadValue;

constexpr char kCurrent[] = "current";
constexpr char kClusters[] = "clusters";
constexpr char kClient[] = "client";

using Names = std::vector<std::string>;

// `path` may be a pipe, for example from a program that decrypts the file.
absl::StatusOr<toml::table> Read(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string readable, ReadableConfig(path));
  auto table = config::ReadToml(readable);
  if (table.ok() || readable == path) return table;
  return absl::Status(
      table.status().code(),
      absl::StrReplaceAll(table.status().message(), {{readable, path}}));
}

Names Joined(Names names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

// Unknown keys are errors, because a mistyped one would be ignored otherwise.
absl::Status CheckKeys(const toml::table& table, const std::string& what,
                       const Names& known, const std::string& path) {
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return BadValue(path, key.source(),
                      absl::StrCat(what, " can have no ",
                                   value.is_table() ? "section [" : "key ",
                                   name, value.is_table() ? "]" : "",
                                   config::DidYouMean(name, known)));
    }
  }
  return absl::OkStatus();
}

// A section, which may be missing.
absl::StatusOr<const toml::table*> FindTable(const toml::table& file,
                                             const std::string& name,
                                             const std::string& path) {
  static const toml::table* const kNone = new toml::table;
  const toml::node* node = file.get(name);
  if (node == nullptr) return kNone;
  if (const toml::table* table = node->as_table()) return table;
  return BadValue(path, node->source(),
                  absl::StrCat(name, " is a section, as in [", name, "]"));
}

absl::StatusOr<Names> ReadAddresses(const toml::table& cluster,
                                    const char* name, const std::string& path) {
  Names addresses;
  const toml::node* node = cluster.get(name);
  if (node == nullptr) return addresses;
  const auto bad = [&](absl::string_view why) {
    return BadValue(path, node->source(),
                    absl::StrCat(name, " is no array of \"host:port\"",
                                 why.empty() ? "" : ": ", why));
  };
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

// Adds options that are not set yet.
absl::Status TakeOptions(const toml::table& table, const Names& options,
                         const std::string& path, ClientConfig* config) {
  for (const std::string& name : options) {
    const toml::node* node = table.get(name);
    if (node == nullptr) continue;
    ClientConfig::Value value;
    value.line = static_cast<int>(node->source().begin.line);
    if (const auto* text = node->as_string()) {
      value.text = text->get();
    } else if (const auto* whole = node->as_integer()) {
      value.text = absl::StrCat(whole->get());
    } else if (const auto* yes = node->as_boolean()) {
      value.text = yes->get() ? "true" : "false";
    } else {
      return BadValue(path, node->source(),
                      absl::StrCat(name,
                                   " must be a text in quotes, a whole "
                                   "number, or true or false"));
    }
    config->options.emplace(name, std::move(value));
  }
  return absl::OkStatus();
}

// Checks all sections, whichever one is used.
absl::Status CheckFile(const toml::table& file, const ServerSettings& servers,
                       const Names& options, const std::string& path) {
  Names top = Joined({kCurrent, kClusters, kClient}, options);
  for (const auto& [section, keys] : servers) {
    top.push_back(section);
    top.insert(top.end(), keys.begin(), keys.end());
    ASSIGN_OR_RETURN(const auto* table, FindTable(file, section, path));
    RETURN_IF_ERROR(
        CheckKeys(*table, absl::StrCat("[", section, "]"), keys, path));
  }
  RETURN_IF_ERROR(CheckKeys(file, "the file", top, path));
  ASSIGN_OR_RETURN(const auto* client, FindTable(file, kClient, path));
  RETURN_IF_ERROR(CheckKeys(*client, "[client]", options, path));
  ASSIGN_OR_RETURN(const auto* clusters, FindTable(file, kClusters, path));
  const Names of_cluster = Joined({"seeds", "managers"}, options);
  for (const auto& [name, node] : *clusters) {
    const std::string what = absl::StrCat("cluster ", std::string(name.str()));
    const toml::table* cluster = node.as_table();
    if (cluster == nullptr) {
      return BadValue(path, name.source(),
                      what + " is no section, as [clusters.NAME]");
    }
    RETURN_IF_ERROR(CheckKeys(*cluster, what, of_cluster, path));
  }
  return absl::OkStatus();
}

Names ClusterNames(const toml::table& clusters) {
  Names names;
  for (const auto& [key, value] : clusters) names.emplace_back(key.str());
  return names;
}

absl::StatusOr<const toml::table*> FindCluster(const toml::table& file,
                                               const std::string& name,
                                               const std::string& path) {
  ASSIGN_OR_RETURN(const auto* clusters, FindTable(file, kClusters, path));
  const toml::node* node = clusters->get(name);
  if (node != nullptr) return node->as_table();
  const Names names = ClusterNames(*clusters);
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": no cluster ", name, "; it has ",
                   names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

}  // namespace

absl::StatusOr<ClientConfig> ReadClientConfig(
    const std::string& path, const std::string& cluster,
    const ServerSettings& servers, const std::vector<std::string>& options) {
  ASSIGN_OR_RETURN(const toml::table file, Read(path));
  RETURN_IF_ERROR(CheckFile(file, servers, options, path));
  ClientConfig config;
  config.cluster = cluster;
  if (const toml::node* node = file.get(kCurrent)) {
    const auto current = node->value<std::string>();
    if (!current.has_value()) {
      return BadValue(path, node->source(), "current is no name");
    }
    if (cluster.empty()) config.cluster = *current;
  }
  if (!config.cluster.empty()) {
    ASSIGN_OR_RETURN(const auto* own, FindCluster(file, config.cluster, path));
    ASSIGN_OR_RETURN(config.seeds, ReadAddresses(*own, "seeds", path));
    ASSIGN_OR_RETURN(config.managers, ReadAddresses(*own, "managers", path));
    RETURN_IF_ERROR(TakeOptions(*own, options, path, &config));
  }
  ASSIGN_OR_RETURN(const auto* client, FindTable(file, kClient, path));
  RETURN_IF_ERROR(TakeOptions(*client, options, path, &config));
  RETURN_IF_ERROR(TakeOptions(file, options, path, &config));
  return config;
}

absl::StatusOr<Names> ServersOf(const std::string& path,
                                const ServerSettings& servers,
                                const Names& options) {
  ASSIGN_OR_RETURN(const toml::table file, Read(path));
  Names own, knowing;
  for (const auto& [server, names] : servers) {
    if (file.contains(server)) own.push_back(server);
    bool knows_all = true;
    bool any = false;
    for (const auto& [key, value] : file) {
      const std::string name(key.str());
      if (name == kCurrent || name == kClusters || name == kClient) continue;
      const bool known =
          std::find(names.begin(), names.end(), name) != names.end();
      const bool an_option =
          std::find(options.begin(), options.end(), name) != options.end();
      knows_all = knows_all && known;
      any = any || (known && !an_option);
    }
    if (knows_all && any) knowing.push_back(server);
  }
  return own.empty() ? knowing : own;
}

absl::StatusOr<Names> ClustersOf(const std::string& path) {
  ASSIGN_OR_RETURN(const toml::table file, Read(path));
  ASSIGN_OR_RETURN(const auto* clusters, FindTable(file, kClusters, path));
  return ClusterNames(*clusters);
}

}  // namespace kamino::client
