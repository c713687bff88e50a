// Shared by the commands of `kamino`: the client, the output of errors and
// results, and the exit codes.
#ifndef KAMINO_CLIENT_CLI_CLI_H_
#define KAMINO_CLIENT_CLI_CLI_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Validators.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/admin.h"
#include "client/cli/settings.h"
#include "client/client.h"
#include "google/protobuf/message.h"

namespace kamino::client {

// Exit codes of `kamino`.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;    // the service refused
inline constexpr int kExitUsage = 2;     // the command line is wrong
inline constexpr int kExitNoAnswer = 3;  // no answer in time

using Words = std::vector<std::string>;

// One run of the program. Not thread-safe.
class Cli {
 public:
  Cli();
  ~Cli();

  // Runs the chosen command and returns its exit code; set by the command line.
  std::function<int()> run;

  Settings& settings() { return settings_; }
  const Settings& settings() const { return settings_; }
  // The words of `commit` after --.
  Words& literal_words() { return literal_words_; }
  bool json() const { return settings_.output == Output::kJson; }
  // Makes this run's reads go to any replica. Call before Connect.
  void ReadAtAnyReplica() { reads_ = Reads::kAnyReplica; }
  bool raw() const { return settings_.output == Output::kRaw; }

  // The encoding of keys: from --key_encoding or the configuration file.
  // Ignores an unreadable configuration file, which Connect reports.
  KeyEncoding Keys();
  // The key that a word of the command line encodes.
  absl::StatusOr<std::string> KeyOf(const std::string& word);

  // The client of the chain, or of the managers; the first call connects.
  // kInvalidArgument: the settings name no address. A command that uses both
  // connects to the chain first: the managers must belong to its cluster.
  absl::StatusOr<Client*> Connect();
  absl::StatusOr<Admin*> ConnectToManagers();

  // Prints an error on stderr, as one line or as JSON, and returns the exit
  // code for it.
  int Fail(const absl::Status& status) const;
  // The same for a wrong command line.
  int FailUsage(absl::string_view message) const;

 private:
  Settings settings_;
  Words literal_words_;
  Reads reads_ = Reads::kTail;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Admin> admin_;
};

// Adds a command with the options that all commands have. `examples`: one a
// line.
CLI::App* AddCommand(CLI::App* app, Cli* cli, const std::string& name,
                     const std::string& description,
                     const std::string& examples);

// Accepts decimal numbers only, for transform(). Without it the library reads
// -1 and numbers that are too large as the largest number, and 010 as 8.
CLI::Validator Decimal();

// Prints the message as JSON (client/cli/json.h) on one line.
void PrintJson(const google::protobuf::Message& message);

// Each adds its commands to `app`; both must outlive the run.
void AddObjectCommands(CLI::App* app, Cli* cli);  // get, put, patch, del, scan
void AddCommitCommands(CLI::App* app, Cli* cli);  // commit, call, outcome
void AddStatusCommand(CLI::App* app, Cli* cli);
void AddAdminCommand(CLI::App* app, Cli* cli);
void AddFinalizeCommand(CLI::App* admin, Cli* cli);
void AddLoadCommand(CLI::App* app, Cli* cli);
void AddBenchCommand(CLI::App* app, Cli* cli);
void AddBackupCommand(CLI::App* app, Cli* cli);
void AddRestoreCommand(CLI::App* backup, Cli* cli);
void AddCheckCommand(CLI::App* app, Cli* cli);
void AddConfigCommand(CLI::App* app, Cli* cli);
void AddDebugCommand(CLI::App* app, Cli* cli);
void AddCertCommand(CLI::App* app, Cli* cli);

// The settings that kamino_node and kamino_manager read from a configuration
// file.
ServerSettings SettingsOfServers();

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_CLI_H_
