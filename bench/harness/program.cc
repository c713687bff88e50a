#include "bench/harness/program.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "glog/logging.h"

namespace kamino::bench {

namespace {

// With a file that results are to be written to in the end; "": nothing.
std::string WhatIsWrong(const std::string& out) {
  if (out.empty()) return "";
  std::error_code ignored;
  // Adds nothing to a file that there is, and leaves none that there was not.
  const bool was = std::filesystem::exists(out, ignored);
  if (!std::ofstream(out, std::ios::app).is_open()) {
    return absl::StrCat("cannot write ", out, ": ", std::strerror(errno));
  }
  if (!was) std::filesystem::remove(out, ignored);
  return "";
}

}  // namespace

std::string CheckRegex(const std::string& text) {
  try {
    std::regex{text};
  } catch (const std::regex_error&) {
    return absl::StrCat("'", text, "' is no regular expression");
  }
  return "";
}

Program::Program(const std::string& name, const std::string& about)
    : flags_(about, name) {
  flags_.add_flag("--quick", quick_, "Less data and shorter slices.");
  flags_.add_flag("--json", json_, "Print JSON on stdout instead of tables.");
  flags_.add_option("--out", out_,
                    "Write the measurements to this file as JSON.");
}

std::optional<int> Program::Parse(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  try {
    flags_.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << flags_.help();
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    return Fail(kExitUsage, absl::StrCat(error.what(), "; see --help"));
  }
  if (const std::string wrong = WhatIsWrong(out_); !wrong.empty()) {
    return Fail(kExitFailed, absl::StrCat("--out: ", wrong));
  }
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return std::nullopt;
}

int Program::Fail(int code, absl::string_view message) const {
  std::cerr << flags_.get_name() << ": " << message << "\n";
  return code;
}

Progress Program::StartProgress() {
  return [begin = MonotonicNow()](const std::string& what) {
    std::cerr << absl::StreamFormat(
        "%6.1f s  %s\n", absl::ToDoubleSeconds(MonotonicNow() - begin), what);
  };
}

int Program::Report(const Facts& facts, const std::string& json,
                    const std::string& tables) const {
  if (!out_.empty()) {
    std::ofstream file(out_);
    file << json;
    file.close();
    if (!file) return Fail(kExitFailed, absl::StrCat("cannot write ", out_));
  }
  if (json_) {
    std::cout << json;
    return kExitOk;
  }
  for (const auto& [name, value] : facts) {
    std::cout << name << ": " << value << "\n";
  }
  std::cout << tables;
  return kExitOk;
}

}  // namespace kamino::bench
