// The sources of a server program's flags: its command line, and for flags that
// are not there, the configuration file that --config names.
#ifndef KAMINO_CONFIG_PROGRAM_CONFIG_H_
#define KAMINO_CONFIG_PROGRAM_CONFIG_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "config/config_file.h"

namespace kamino::config {

// Whether --check_config, --check_config_file or --config_example is set.
bool OnlyChecks();
bool OnlyChecksFile();
bool OnlyPrintsExample();

// Not thread-safe.
class ProgramConfig {
 public:
  // `program`: the name of its section, "node" or "manager".
  explicit ProgramConfig(std::string program) : program_(std::move(program)) {}

  // Sets the flags from the file that the command line's --config names, if
  // any. Call it before parsing the command line, which takes precedence.
  // kInvalidArgument: see ReadConfigFile; no flag is set.
  absl::Status Load(int argc, const char* const* argv);

  // The file that --config names; "": none.
  const std::string& path() const { return path_; }

  // Prefixes an error that names a flag ("--flag ...") with the place of the
  // flag's value, if it is in the file.
  std::string WithPlace(absl::string_view error) const;

  // Reads the file again, sets the flags for which a reloader is registered
  // (Reloads::Get), and calls all reloaders. Logs the result on one line, and
  // the flags whose changes need a restart on another. If the file is wrong, or
  // `check` rejects the flags, nothing changes.
  void Reload(const std::function<absl::Status()>& check);

 private:
  // The flags' values by the file or by default, except those set on the
  // command line.
  std::map<std::string, std::string> Wanted(
      const std::map<std::string, FileValue>& values) const;
  // Sets the reloadable flags to the values. kInvalidArgument: `check` rejects
  // them, and nothing has changed.
  absl::Status Adopt(const std::function<absl::Status()>& check);

  const std::string program_;
  std::string path_;             // "": no file
  std::set<std::string> typed_;  // on the command line
  std::map<std::string, FileValue> values_;
};

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_PROGRAM_CONFIG_H_
