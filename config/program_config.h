// Where a server program's flags come from: its command line and, for what that
// does not say, the configuration file that --config names.
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

// Whether --check_config is set, --check_config_file, --config_example.
bool OnlyChecks();
bool OnlyChecksFile();
bool OnlyPrintsExample();

// Not thread-safe.
class ProgramConfig {
 public:
  // `program`: as the file's sections name it, "node" or "manager".
  explicit ProgramConfig(std::string program) : program_(std::move(program)) {}

  // Sets the flags that the file of the command line's --config has, if there
  // is one; to be called before the command line's are parsed, which go before
  // the file's. kInvalidArgument: see ReadConfigFile; nothing is set.
  absl::Status Load(int argc, const char* const* argv);

  // What --config names; "": nothing.
  const std::string& path() const { return path_; }

  // The text of an error that may name a flag ("--flag ..."): with the place of
  // the flag's value in front, if the file has it.
  std::string WithPlace(absl::string_view error) const;

  // Reads the file again, sets the flags for which a reloader is registered
  // (Reloads::Get), and calls all reloaders. One line of the log says what came
  // of it; one more names the flags that have changed and are not taken on. If
  // the file is wrong, or `check` finds the flags wrong, nothing has changed
  // but for a line in the log.
  void Reload(const std::function<absl::Status()>& check);

 private:
  // What the flags are to be by the file's values, or by default, but for those
  // typed.
  std::map<std::string, std::string> Wanted(
      const std::map<std::string, FileValue>& values) const;
  // Sets the flags that can be, as the values say; kInvalidArgument: `check`
  // finds fault, and nothing has changed.
  absl::Status Adopt(const std::function<absl::Status()>& check);

  const std::string program_;
  std::string path_;             // "": there is no file
  std::set<std::string> typed_;  // on the command line
  std::map<std::string, FileValue> values_;
};

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_PROGRAM_CONFIG_H_
