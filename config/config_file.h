// The configuration file of a server program: TOML, whose keys are the names of
// its flags. One file can serve all programs of a host: what stands above the
// first section is for all of them, what is in [node] or [manager] for that
// program, [client], [clusters] and `current` for the command line.
#ifndef KAMINO_CONFIG_CONFIG_FILE_H_
#define KAMINO_CONFIG_CONFIG_FILE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kamino::config {

// What the file says of a flag.
struct FileValue {
  std::string text;  // as the flag parses it
  int line = 0;
};

// Values by flag, of the section of `program` ("node", "manager") and, where
// that has none, of what is for all. kInvalidArgument, "path:line: why": as
// ReadToml; a section or key that `program` does not know; a value of another
// kind than its flag's, or that the flag does not take.
absl::StatusOr<std::map<std::string, FileValue>> ReadConfigFile(
    const std::string& path, absl::string_view program);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_CONFIG_FILE_H_
