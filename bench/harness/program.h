// A bench as a program: its flags, what it says meanwhile, where results go.
#ifndef KAMINO_BENCH_HARNESS_PROGRAM_H_
#define KAMINO_BENCH_HARNESS_PROGRAM_H_

#include <functional>
#include <optional>
#include <string>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/string_view.h"
#include "bench/harness/json.h"

namespace kamino::bench {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // cannot go on
inline constexpr int kExitUsage = 2;   // bad flags

// For a flag that is a regular expression: what is wrong with it, or nothing.
std::string CheckRegex(const std::string& text);

using Progress = std::function<void(const std::string&)>;

class Program {
 public:
  // `name` begins each error; `about` each --help.
  Program(const std::string& name, const std::string& about);

  // For the bench's own flags. All have --quick, --json and --out.
  CLI::App& flags() { return flags_; }
  bool quick() const { return quick_; }

  // Nothing: continue. Otherwise the exit code, after --help or after a bad
  // flag, which is reported on stderr. From then on absl::Mutex does not look
  // for deadlocks, which costs as much as the lock.
  std::optional<int> Parse(int argc, char** argv);

  // Tells stderr. Returns `code`.
  int Fail(int code, absl::string_view message) const;

  // Tells stderr what is being done, and how long after this call.
  static Progress StartProgress();

  // Writes `json` to the file of --out, and prints it, or else facts and
  // `tables`. Returns what to exit with.
  int Report(const Facts& facts, const std::string& json,
             const std::string& tables) const;

 private:
  CLI::App flags_;
  bool quick_ = false;
  bool json_ = false;
  std::string out_;
};

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_HARNESS_PROGRAM_H_
