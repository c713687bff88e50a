#include "base/parse_flags.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace kamino {
namespace {

constexpr int kExitUsage = 2;

// Abseil's flags that print something and end the process.
bool IsHelpFlag(absl::string_view word) {
  if (!absl::ConsumePrefix(&word, "-")) return false;
  absl::ConsumePrefix(&word, "-");
  const size_t end = word.find('=');
  const absl::string_view name = word.substr(0, end);
  if (end != absl::string_view::npos) {
    return name == "help" || name == "helpon" || name == "helpmatch";
  }
  return name == "help" || name == "helpfull" || name == "helpshort" ||
         name == "helppackage" || name == "helpon" || name == "helpmatch" ||
         name == "version";
}

// Abseil ends the process with 1 for bad flags and for --help.
bool parsing_flags = false;
int parse_exit_code = kExitUsage;

}  // namespace

bool IsOwnFlagFile(absl::string_view file) {
  return !absl::StrContains(file, "absl/");
}

int ExitCodeAfterOutput(int exit_code) {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::cout.good()) return exit_code;
  std::cerr << program_invocation_short_name
            << ": cannot write to standard output";
  // An earlier write may have failed: its error number is not known here.
  if (errno != 0) std::cerr << ": " << std::strerror(errno);
  std::cerr << "\n";
  return exit_code == 0 ? 1 : exit_code;
}

bool AsksForHelp(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const absl::string_view word = argv[i];
    if (word == "--") return false;
    if (IsHelpFlag(word)) return true;
  }
  return false;
}

void ParseFlags(const std::string& name, const std::string& usage,
                const std::string& version, int argc, char** argv) {
  if (AsksForHelp(argc, argv)) parse_exit_code = 0;
  std::atexit([] {
    if (!parsing_flags) return;
    _exit(ExitCodeAfterOutput(parse_exit_code));
  });
  absl::SetProgramUsageMessage(usage);
  absl::FlagsUsageConfig config;
  // All flags except Abseil's own, in any file.
  config.contains_help_flags = IsOwnFlagFile;
  config.contains_helpshort_flags = config.contains_help_flags;
  config.version_string = [name, version] {
    return absl::StrCat(name, " ", version, "\n");
  };
  absl::SetFlagsUsageConfig(config);
  parsing_flags = true;
  const auto rest = absl::ParseCommandLine(argc, argv);
  parsing_flags = false;
  if (rest.size() > 1) {
    std::cerr << name << ": unexpected argument " << rest[1] << "\n";
    std::exit(kExitUsage);
  }
}

}  // namespace kamino
