// The options of every command: where the cluster is, how long to wait, how to
// print.
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
  kRaw,    // values' bytes, unchanged
};

struct Settings {
  std::vector<std::string> seeds;     // host:port of nodes
  std::vector<std::string> managers;  // host:port
  std::string cluster;                // a name in the configuration file
  std::string config;                 // that file; "": the default one, if any
  absl::Duration timeout = absl::Seconds(10);
  std::string carrier;     // of sessions, as in ClientOptions
  security::TlsFiles tls;  // as in ClientOptions, as the next
  bool insecure = false;
  Output output = Output::kTable;
  std::string output_by;  // the option that sets it: "--json"; "": none
  KeyEncoding key_encoding = KeyEncoding::kByPlace;
  std::string located_by;  // the source of the cluster's addresses, once known
  std::set<std::string> typed;  // options that the command line sets
  // The sources of the other options: "KAMINO_TLS_CA", "config.toml:3".
  std::map<std::string, std::string> places;
  ServerSettings servers;  // in a configuration file that all programs share
};

// Adds the options for `settings`, which must outlive the app. Every command
// gets them, so that they may stand before or after its name.
void AddSettings(CLI::App* app, Settings* settings);

// Whether the words of a command line ask for JSON: for an error that keeps the
// options from being read.
bool AskForJson(const std::vector<std::string>& words);

// Returns the value of an environment variable; "" if it is not set.
using Environment = std::function<std::string(const char* name)>;

// The options of AddSettings that a configuration file may set. Those that
// locate the file or the cluster, or choose the output of one command, are
// excluded.
std::vector<std::string> OptionsOfFiles();

// kInvalidArgument: the configuration file has names that neither the command
// line nor a server knows, or impossible options of a cluster.
absl::Status CheckConfigFile(const std::string& path,
                             const ServerSettings& servers);

enum class Place { kChain, kManagers };

// Locates the chain and its managers. Both come from one source, so that a
// command cannot reach two clusters. The first source that names either wins:
// the command line's addresses; the cluster or the file that the command line
// names; KAMINO_SEEDS and KAMINO_MANAGERS; the cluster that KAMINO_CLUSTER or
// the configuration file names. The file, from KAMINO_CONFIG or the default
// one, is read only to find a cluster. kInvalidArgument: that source does not
// locate `wanted`, or there is no source; the command line has both addresses
// and a cluster or file; a requested file or cluster does not exist; or the
// file is not as docs/use/cli.md describes.
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
