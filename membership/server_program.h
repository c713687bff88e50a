// What the manager and the nodes have in common as programs: flags, signals,
// exit codes, the last line on stderr.
#ifndef KAMINO_MEMBERSHIP_SERVER_PROGRAM_H_
#define KAMINO_MEMBERSHIP_SERVER_PROGRAM_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kamino::membership {

// kInvalidArgument: "--flag why".
absl::Status BadFlag(absl::string_view flag, absl::string_view why);

// Whether `address` is host:port; port 0 only with `any_port`.
absl::Status CheckAddressFlag(absl::string_view flag, absl::string_view address,
                              bool any_port);

// One listener of the process: its flag and host:port, checked before.
using Listener = std::pair<std::string, std::string>;
// Whether no two of them have one host and port. Port 0 is any free port.
absl::Status CheckListeners(const std::vector<Listener>& listeners);

// Of "host:port,...": one address at least.
absl::StatusOr<std::vector<std::string>> ReadAddressesFlag(
    absl::string_view flag, absl::string_view text);

// Whether `id` can be a cluster's or a node's: what heaps are labelled with.
absl::Status CheckIdFlag(absl::string_view flag, absl::string_view id);

// Whether `address` names a host that others can connect to, not every address
// of this one.
bool IsReachable(absl::string_view address);

// Within `serve` below, after its `await_end` has returned: whether the program
// is asked to end once more, which is waited for so long.
bool IsAskedAgainToEnd(absl::Duration within);

struct ServerProgram {
  std::string name;
  std::string usage;
  // Checks the flags, and has no other effect: called at the start, and when
  // they are read again. An error is the user's.
  std::function<absl::Status()> check;
  // Checks the files that flags name and a start reads, beyond that: asked for
  // by --check_config. No other effect, either.
  std::function<absl::Status()> check_files = [] { return absl::OkStatus(); };
  // Checks that the machine allows what the flags ask for, at the start and for
  // --check_config. No other effect. An error is the user's.
  std::function<absl::Status()> check_machine = [] { return absl::OkStatus(); };
  // Lines, at the same times, about what the program goes on without, or is
  // short of.
  std::function<std::vector<std::string>()> warnings = [] {
    return std::vector<std::string>();
  };
  // Of flags that are required: what an example of a configuration file has.
  std::map<std::string, std::string> example;
  // Of those that certificates (--tls_cert) make required.
  std::map<std::string, std::string> with_certificates;
  // Reads the flags, and runs until `await_end` returns, which it does on
  // SIGTERM or SIGINT. Called with both blocked, so that threads made by it
  // leave them alone.
  std::function<absl::Status(const std::function<void()>& await_end)> serve;
};

// The whole of main: 0 when `serve` succeeds, 1 when it fails, 2 for bad flags,
// also where `serve` fails by one (BadFlag).
// These come from the command line and the file that --config names; SIGHUP
// reads that again (config/program_config.h).
// Logs go to stderr; the last line there says why it exits with another code
// than 0.
int RunServer(const ServerProgram& program, int argc, char** argv);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_SERVER_PROGRAM_H_
