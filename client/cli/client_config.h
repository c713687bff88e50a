// The command line's part of a configuration file:
// docs/operate/configuration.md.
#ifndef KAMINO_CLIENT_CLI_CLIENT_CONFIG_H_
#define KAMINO_CLIENT_CLI_CLIENT_CONFIG_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kamino::client {

// What servers know in the file, by section ("node").
using ServerSettings = std::map<std::string, std::vector<std::string>>;

// What a file says of one cluster.
struct ClientConfig {
  struct Value {
    std::string text;  // as the command line has it; "true", "false"
    int line = 0;
  };

  std::string cluster;  // its name; "": none is named, there are options only
  std::vector<std::string> seeds;
  std::vector<std::string> managers;
  std::map<std::string, Value> options;
};

// Of the cluster that has that name, or is the file's current one. Its options
// go before those of [client], these before those above all sections, where
// `servers` may have others. kInvalidArgument, with file and line: the file is
// no TOML, or has a section or key that neither `options` nor `servers` have,
// or has no such cluster.
absl::StatusOr<ClientConfig> ReadClientConfig(
    const std::string& path, const std::string& cluster,
    const ServerSettings& servers, const std::vector<std::string>& options);

// The servers whose settings the file has: those that have a section there, or,
// where none has, those that know all that stands above the sections. `options`
// are as above.
absl::StatusOr<std::vector<std::string>> ServersOf(
    const std::string& path, const ServerSettings& servers,
    const std::vector<std::string>& options);

// The names of its clusters.
absl::StatusOr<std::vector<std::string>> ClustersOf(const std::string& path);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_CLIENT_CONFIG_H_
