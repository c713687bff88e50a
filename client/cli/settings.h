// What every command of `kamino` can be told: where the cluster is, how long to
// wait, how to print.
#ifndef KAMINO_CLIENT_CLI_SETTINGS_H_
#define KAMINO_CLIENT_CLI_SETTINGS_H_

#include <functional>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace kamino::client {

enum class Output {
  kTable,  // for people: tables, one line for each object
  kJson,   // for programs: one JSON object for each message
  kRaw,    // values' bytes as they are
};

struct Settings {
  std::vector<std::string> seeds;     // host:port of nodes
  std::vector<std::string> managers;  // host:port
  std::string cluster;                // a name in the configuration file
  std::string config;                 // that file; "": the default one, if any
  absl::Duration timeout = absl::Seconds(10);
  Output output = Output::kTable;
};

// Adds the options for `settings`, which must outlive the app. Every command
// has them, so that they may stand before or behind its name.
void AddSettings(CLI::App* app, Settings* settings);

// The value of an environment variable; "" where it is not set.
using Environment = std::function<std::string(const char* name)>;

enum class Place { kChain, kManagers };

// Fills in where the chain, or its managers, are if the command line left that
// open: from a cluster that it names, else from KAMINO_SEEDS or
// KAMINO_MANAGERS, else from the cluster that KAMINO_CLUSTER or the
// configuration file names. The file, of KAMINO_CONFIG or the default one, is
// read only for a cluster. kInvalidArgument: a file or cluster that was asked
// for is not there, or the file is not as docs/cli.md says.
absl::Status Locate(Place place, const Environment& environment,
                    Settings* settings);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_SETTINGS_H_
