// Tests that the harness notices planted faults, and nothing when there is
// none. A program instantiates them for its schemes' faults. FAULT=name in the
// environment: only those whose names begin with it.
#ifndef KAMINO_TESTS_ENGINE_CRASH_PLANTED_FAULTS_SUITE_H_
#define KAMINO_TESTS_ENGINE_CRASH_PLANTED_FAULTS_SUITE_H_

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "gtest/gtest.h"
#include "tests/engine/crash/planted_faults.h"
#include "tests/faults/trial.h"

namespace kamino::engine::crash {

inline constexpr uint64_t kMany = 1000000;  // seeds

// The last line of the account names the violation.
inline std::string LastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

inline faults::Verdict Try(const PlantedFault& fault, uint64_t seeds) {
  return faults::RunTrial([&] {
    const Trial trial = RunWithFault(fault, seeds);
    return faults::Verdict{trial.noticed, LastLine(trial.account)};
  });
}

class PlantedFaultTest : public ::testing::TestWithParam<PlantedFault> {};

TEST_P(PlantedFaultTest, IsCaught) {
  const PlantedFault& fault = GetParam();
  const char* const only = std::getenv("FAULT");
  if (only != nullptr && fault.name.rfind(only, 0) != 0) GTEST_SKIP();
  const auto start = std::chrono::steady_clock::now();
  const faults::Verdict verdict = Try(fault, kMany);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  std::printf("%-38s %-15s %6.2f s  %s\n", fault.name.c_str(),
              fault.scheme.c_str(), took.count(), verdict.how.c_str());
  EXPECT_TRUE(verdict.caught) << fault.name << ": " << verdict.how;
}

// For test names, which have letters, figures and underscores.
inline std::string AsName(std::string text) {
  for (char& c : text) {
    if (!absl::ascii_isalnum(c)) c = '_';
  }
  return text;
}

inline std::string NameOfFault(
    const ::testing::TestParamInfo<PlantedFault>& info) {
  return AsName(info.param.name + "_" + info.param.scheme +
                (info.param.pages ? "_pages" : ""));
}

// By the scheme's name.
class NoFaultTest : public ::testing::TestWithParam<const char*> {};

TEST_P(NoFaultTest, NothingIsCaught) {
  const faults::Verdict verdict = Try({"", GetParam()}, /*seeds=*/3);
  EXPECT_EQ(verdict.how, "");
}

inline std::string NameOfScheme(
    const ::testing::TestParamInfo<const char*>& info) {
  return AsName(info.param);
}

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_PLANTED_FAULTS_SUITE_H_
