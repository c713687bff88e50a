// Parses command lines that consist of Abseil flags only.
#ifndef KAMINO_BASE_PARSE_FLAGS_H_
#define KAMINO_BASE_PARSE_FLAGS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace kamino {

// Whether a flag defined in `file` is one of ours, not one of Abseil's own.
bool IsOwnFlagFile(absl::string_view file);

// Whether a word is --help, --version or another of Abseil's flags of that
// kind, with one dash or two.
bool AsksForHelp(int argc, char** argv);

// Flushes standard output. If that fails, it says so on stderr and returns 1 in
// place of 0; else it returns `exit_code`.
int ExitCodeAfterOutput(int exit_code);

// Sets the flags or ends the process. --help and --version exit with 0, after
// printing `usage` and all flags but Abseil's own, or `version`. An unknown
// flag, a wrong value or a word that is not a flag exits with 2, after one line
// on stderr. Call it first.
void ParseFlags(const std::string& name, const std::string& usage,
                const std::string& version, int argc, char** argv);

}  // namespace kamino

#endif  // KAMINO_BASE_PARSE_FLAGS_H_
