// The configuration file of a server program: TOML, with the names of flags as
// keys. All programs of a host can share it: keys above the first section are
// for all of them, [node] and [manager] for that program, and [client],
// [clusters] and `current` for the command line.
#ifndef KAMINO_CONFIG_CONFIG_FILE_H_
#define KAMINO_CONFIG_CONFIG_FILE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kamino::config {

// A flag's value in the file.
struct FileValue {
  std::string text;  // in the flag's own syntax
  int line = 0;
};

// Returns values by flag, from the section of `program` ("node", "manager") or,
// if it has none, from above the sections. kInvalidArgument, "path:line: why":
// as ReadToml; an unknown section or key; a value of the wrong type, or one
// that the flag rejects.
absl::StatusOr<std::map<std::string, FileValue>> ReadConfigFile(
    const std::string& path, absl::string_view program);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_CONFIG_FILE_H_
