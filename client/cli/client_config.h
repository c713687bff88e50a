// The command line's part of a configuration file:
// docs/operate/configuration.md.
#ifndef KAMINO_CLIENT_CLI_CLIENT_CONFIG_H_
#define KAMINO_CLIENT_CLI_CLIENT_CONFIG_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kamino::client {

// The settings that servers read, by section ("node").
using ServerSettings = std::map<std::string, std::vector<std::string>>;

// A file's settings for one cluster.
struct ClientConfig {
  struct Value {
    std::string text;  // in command-line syntax; "true", "false"
    int line = 0;
  };

  std::string cluster;  // its name; "": the file has options only
  std::vector<std::string> seeds;
  std::vector<std::string> managers;
  std::map<std::string, Value> options;
};

// Reads the settings of the named cluster, or of the file's current one. The
// cluster's options take precedence over [client], and [client] over the
// options above all sections, which may also hold options of `servers`.
// kInvalidArgument, with file and line: the file is not TOML, has a section or
// key that is in neither `options` nor `servers`, or has no such cluster.
absl::StatusOr<ClientConfig> ReadClientConfig(
    const std::string& path, const std::string& cluster,
    const ServerSettings& servers, const std::vector<std::string>& options);

// The servers whose settings the file holds: those with a section, or, if none
// has one, those that know every key above the sections. `options` as above.
absl::StatusOr<std::vector<std::string>> ServersOf(
    const std::string& path, const ServerSettings& servers,
    const std::vector<std::string>& options);

// The names of the file's clusters.
absl::StatusOr<std::vector<std::string>> ClustersOf(const std::string& path);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_CLIENT_CONFIG_H_
