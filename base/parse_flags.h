// Command lines of programs that have Abseil's flags and nothing else.
#ifndef KAMINO_BASE_PARSE_FLAGS_H_
#define KAMINO_BASE_PARSE_FLAGS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace kamino {

// Whether a flag defined in `file` is one of ours, and not of Abseil's own.
bool IsOwnFlagFile(absl::string_view file);

// Whether a word is --help, --version or another of Abseil's flags of that
// kind, with one dash or two.
bool AsksForHelp(int argc, char** argv);

// Flushes standard output. If that fails, it says so on stderr and returns 1 in
// place of 0; else it returns `exit_code`.
int ExitCodeAfterOutput(int exit_code);

// Sets the flags, or ends the process: with 0 after --help and --version, which
// print what there is (`usage`, then all flags but Abseil's own; `version`);
// with 2 for a flag that is unknown or wrong and for a word that is none, with
// a line on stderr. To be called first.
void ParseFlags(const std::string& name, const std::string& usage,
                const std::string& version, int argc, char** argv);

}  // namespace kamino

#endif  // KAMINO_BASE_PARSE_FLAGS_H_
