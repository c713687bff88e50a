// What every command of `kamino` can be told: where the cluster is, how long to
// wait, how to print.
#ifndef KAMINO_CLIENT_CLI_SETTINGS_H_
#define KAMINO_CLIENT_CLI_SETTINGS_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/cli/client_config.h"
#include "client/cli/key_encoding.h"
#include "security/tls_files.h"

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
  std::string carrier;     // of sessions, as ClientOptions has it
  security::TlsFiles tls;  // as ClientOptions has these two
  bool insecure = false;
  Output output = Output::kTable;
  KeyEncoding key_encoding = KeyEncoding::kByPlace;
  std::string located_by;  // who said where the cluster is, once it is known
  std::set<std::string> typed;  // options of these that the command line has
  // Who else has said an option: "KAMINO_TLS_CA", "config.toml:3".
  std::map<std::string, std::string> places;
  ServerSettings servers;  // in a configuration file for all programs
};

// Adds the options for `settings`, which must outlive the app. Every command
// has them, so that they may stand before or behind its name.
void AddSettings(CLI::App* app, Settings* settings);

// The value of an environment variable; "" where it is not set.
using Environment = std::function<std::string(const char* name)>;

// The options of AddSettings that a configuration file may have: not what says
// where the file or the cluster is, nor how one command prints.
std::vector<std::string> OptionsOfFiles();

// kInvalidArgument: a configuration file has names that neither the command
// line nor servers know, or options of a cluster's that cannot be.
absl::Status CheckConfigFile(const std::string& path,
                             const ServerSettings& servers);

enum class Place { kChain, kManagers };

// Finds where the chain and its managers are. Both come from one place, the
// first that says where either is, so that no command meets another cluster
// than the one before it: the command line's addresses; the cluster that it
// names, or has a file for; KAMINO_SEEDS and KAMINO_MANAGERS; the cluster that
// KAMINO_CLUSTER or the configuration file names. The file, of KAMINO_CONFIG or
// the default one, is read only for a cluster. kInvalidArgument: that place
// does not say where `wanted` is, or there is none; the command line has both
// addresses and a cluster or file; a file or cluster that was asked for is not
// there; the file is not as docs/use/cli.md says.
//
// The file's other settings apply unless the command line or the environment
// (KAMINO_TLS_CERT with KAMINO_TLS_KEY, KAMINO_TLS_CA and KAMINO_TLS_CRL_DIR)
// sets them. A certificate and its key come from one of these three sources.
// --insecure overrides certificates of the other sources, and certificates
// override `insecure` of another source; KAMINO_INSECURE applies only if no
// source names certificates. kInvalidArgument also: a source names incomplete
// certificates, or both certificates and insecure.
absl::Status Locate(Place wanted, const Environment& environment,
                    Settings* settings);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_SETTINGS_H_
