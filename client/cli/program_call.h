// Another of Kamino's programs, run by this one.
#ifndef KAMINO_CLIENT_CLI_PROGRAM_CALL_H_
#define KAMINO_CLIENT_CLI_PROGRAM_CALL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace kamino::client {

struct ProgramSaid {
  int code = 0;      // it has ended with
  std::string text;  // on both its outputs, cut after 64 KiB
};

// Where `program` is if it is beside this one, and so of the same release.
std::string BesideThis(const std::string& program);

// Runs `program`, beside this one or where the shell finds it, until it ends.
// kNotFound: it is not there.
// kFailedPrecondition: it cannot be run. kDeadlineExceeded: it took longer than
// `patience`, and was ended. kUnknown: it ended by a signal.
absl::StatusOr<ProgramSaid> RunProgram(const std::string& program,
                                       std::vector<std::string> words,
                                       absl::Duration patience);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_PROGRAM_CALL_H_
