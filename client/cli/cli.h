// What the commands of `kamino` share: the client, the way errors and results
// are printed, exit codes.
#ifndef KAMINO_CLIENT_CLI_CLI_H_
#define KAMINO_CLIENT_CLI_CLI_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/client.h"
#include "google/protobuf/message.h"

namespace kamino::client {

// Exit codes of `kamino`.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;    // the service said no
inline constexpr int kExitUsage = 2;     // the command line is wrong
inline constexpr int kExitNoAnswer = 3;  // nobody answered, or too late

// One command's words, without its name and flags.
using Words = std::vector<std::string>;

struct Cli {
  Client* client;
  bool json;  // print one JSON object (per object of a scan)
};

// Prints a status as one line on stderr and returns the exit code for it.
int Fail(const absl::Status& status);
// The same for a command line that is wrong; `usage` shows how it is right.
int FailUsage(absl::string_view usage);

// proto3 JSON with original field names: bytes are base64, 64-bit numbers are
// strings.
void PrintJson(const google::protobuf::Message& message);

// Whole number, else false.
bool ParseNumber(absl::string_view text, uint64_t* number);

// --outstanding: from 1 to what a client has under way at most.
absl::StatusOr<int> Outstanding();

// A tally on stderr: redrawn on a terminal, a line per tenth elsewhere.
class Progress {
 public:
  Progress(std::string what, uint64_t total);
  void Show(uint64_t done);

 private:
  const std::string what_;
  const uint64_t total_;
  const bool terminal_;
  int shown_ = -1;  // percent
};

// The commands; each returns an exit code.
int RunGet(const Cli& cli, const Words& words);
int RunPut(const Cli& cli, const Words& words);
int RunPatch(const Cli& cli, const Words& words);
int RunDelete(const Cli& cli, const Words& words);
int RunScan(const Cli& cli, const Words& words);
int RunCommit(const Cli& cli, const Words& words);
int RunCall(const Cli& cli, const Words& words);
int RunOutcome(const Cli& cli, const Words& words);
int RunStatus(const Cli& cli, const Words& words);
int RunLoad(const Cli& cli, const Words& words);
int RunBench(const Cli& cli, const Words& words);
// It speaks to the managers, not to the chain.
int RunAdmin(bool json, const Words& words);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_CLI_H_
