// Runs a target without libFuzzer: files, or mutations by seed.
//
//   fuzz_main --target=chain --first=1 --seeds=1000
//   fuzz_main --target=chain file...
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tests/fuzz/driver.h"

ABSL_FLAG(std::string, target, "chain",
          "chain, entry, link, manager, session or snapshot");
ABSL_FLAG(uint64_t, first, 1, "first seed");
ABSL_FLAG(uint64_t, seeds, 1000, "mutated inputs to run");
ABSL_FLAG(bool, print, false, "print each seed before it runs");
ABSL_FLAG(std::string, write_valid, "",
          "write the valid inputs to this folder and end");
ABSL_FLAG(std::string, keep, "",
          "write the input of seed `first` to this file");

int main(int argc, char** argv) {
  FLAGS_minloglevel = google::GLOG_FATAL;
  google::InitGoogleLogging(argv[0]);
  const auto files = absl::ParseCommandLine(argc, argv);
  for (const auto& target : kamino::fuzz::AllTargets()) {
    if (target.name != absl::GetFlag(FLAGS_target)) continue;
    for (size_t i = 1; i < files.size(); ++i) {
      std::stringstream bytes;
      bytes << std::ifstream(files[i], std::ios::binary).rdbuf();
      target.run(bytes.str());
    }
    if (files.size() > 1) return 0;
    if (const std::string to = absl::GetFlag(FLAGS_write_valid); !to.empty()) {
      int number = 0;
      for (const std::string& input : target.seeds()) {
        std::ofstream(absl::StrCat(to, "/valid", number++), std::ios::binary)
            << input;
      }
      return 0;
    }
    const kamino::fuzz::Mutations mutations(target);
    const uint64_t first = absl::GetFlag(FLAGS_first);
    if (const std::string keep = absl::GetFlag(FLAGS_keep); !keep.empty()) {
      std::ofstream(keep, std::ios::binary) << mutations.Make(first);
      return 0;
    }
    for (uint64_t i = 0; i < absl::GetFlag(FLAGS_seeds); ++i) {
      if (absl::GetFlag(FLAGS_print)) std::cout << first + i << std::endl;
      target.run(mutations.Make(first + i));
    }
    return 0;
  }
  std::cerr << "no such target\n";
  return 1;
}
