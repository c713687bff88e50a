// Runs another program of Kamino.
#ifndef KAMINO_CLIENT_CLI_PROGRAM_CALL_H_
#define KAMINO_CLIENT_CLI_PROGRAM_CALL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace kamino::client {

struct ProgramSaid {
  int code = 0;      // its exit code
  std::string text;  // from both its outputs, truncated after 64 KiB
};

// The path of `program` beside this one, where it has the same release.
std::string BesideThis(const std::string& program);

// Runs `program`, from the folder of this one or from PATH, until it ends.
// kNotFound: it is in neither. kFailedPrecondition: it cannot be run.
// kDeadlineExceeded: it took longer than `patience` and was killed. kUnknown: a
// signal ended it.
absl::StatusOr<ProgramSaid> RunProgram(const std::string& program,
                                       std::vector<std::string> words,
                                       absl::Duration patience);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_PROGRAM_CALL_H_
