// Shared by the programs of managers and nodes: flags, signals, exit codes, the
// last line on stderr.
#ifndef KAMINO_SERVER_SERVER_PROGRAM_H_
#define KAMINO_SERVER_SERVER_PROGRAM_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kamino::server {

// kInvalidArgument: "--flag why".
absl::Status BadFlag(absl::string_view flag, absl::string_view why);

// Whether `address` is host:port; port 0 requires `any_port`.
absl::Status CheckAddressFlag(absl::string_view flag, absl::string_view address,
                              bool any_port);

// A listener of the process: its flag, and its valid host:port.
using Listener = std::pair<std::string, std::string>;
// Whether all have different hosts or ports. Port 0 is any free port.
absl::Status CheckListeners(const std::vector<Listener>& listeners);

// Parses "host:port,..."; requires at least one address.
absl::StatusOr<std::vector<std::string>> ReadAddressesFlag(
    absl::string_view flag, absl::string_view text);

// Whether `id` is a valid cluster or node id, which labels heaps.
absl::Status CheckIdFlag(absl::string_view flag, absl::string_view id);

// Whether `address` names a host that others can connect to, rather than every
// address of this host.
bool IsReachable(absl::string_view address);

// Within `serve` below, after `await_end` has returned: waits for a second
// request to end, and returns whether it came.
bool IsAskedAgainToEnd(absl::Duration within);

struct ServerProgram {
  std::string name;
  std::string usage;
  // Checks the flags without side effects: at the start, and when they are read
  // again. Errors are the user's.
  std::function<absl::Status()> check;
  // Also checks the files that the flags name and that a start reads: for
  // --check_config. Without side effects.
  std::function<absl::Status()> check_files = [] { return absl::OkStatus(); };
  // Checks that the machine allows what the flags ask for: at the start and for
  // --check_config. Without side effects. Errors are the user's.
  std::function<absl::Status()> check_machine = [] { return absl::OkStatus(); };
  // Warnings at the same times, about missing or scarce resources.
  std::function<std::vector<std::string>()> warnings = [] {
    return std::vector<std::string>();
  };
  // Required flags, with values for the example of a configuration file.
  std::map<std::string, std::string> example;
  // Flags that certificates (--tls_cert) make required.
  std::map<std::string, std::string> with_certificates;
  // Reads the flags and runs until `await_end` returns, on SIGTERM or SIGINT.
  // Called with both signals blocked, so that new threads do not receive them.
  std::function<absl::Status(const std::function<void()>& await_end)> serve;
};

// The whole of main: returns 0 if `serve` succeeds, 1 if it fails, and 2 for
// invalid flags, even if `serve` detects them (BadFlag). Flags come from the
// command line and the file that --config names; SIGHUP reads the file again
// (config/program_config.h). Logs go to stderr; if the exit code is not 0, the
// last line gives the reason.
int RunServer(const ServerProgram& program, int argc, char** argv);

}  // namespace kamino::server

#endif  // KAMINO_SERVER_SERVER_PROGRAM_H_
